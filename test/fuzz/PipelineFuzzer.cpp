//===- PipelineFuzzer.cpp - Any bytes as a pipeline of models -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
// Composing fails or gives a model that can be opened again. Services are graphs in the
// pipeline itself, or the model 'scale.onnxtxt'.
#include "test/fuzz/Folder.h"

#include "sluice/Onnx/Compose.h"

#include <cstdlib>
#include <onnx/onnx_pb.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace sluice;
  static const std::string model = fuzz::fileWith("scale.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
scale (float[n, 4] x, float[4] by) => (float[n, 4] y) { y = Mul(x, by) }
)");
  const std::string path = fuzz::fileWith("pipeline.json", {reinterpret_cast<const char *>(data), size});
  const Expected<Composition> composed = composePipeline(path, PinMode::Check);
  if (!composed)
    return 0;
  if (!ModelFile::fromProto(::onnx::ModelProto(composed->model.proto()), "again.onnx", {}))
    std::abort();
  return 0;
}
