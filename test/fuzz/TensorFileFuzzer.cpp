//===- TensorFileFuzzer.cpp - Any bytes as a tensor -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/TensorData.h"

#include <onnx/onnx_pb.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ::onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(data, static_cast<int>(size)))
    return 0;
  if (auto decoded = sluice::inlineTensorData(tensor, nullptr))
    (void)sluice::integersOf(*decoded);
  return 0;
}
