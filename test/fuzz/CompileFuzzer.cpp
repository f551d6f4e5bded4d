//===- CompileFuzzer.cpp - Models through every phase to code -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A model is compiled to objects, or it is an error. Seeds are textual ONNX; what is
// mutated are messages of protobuf. The field model_version selects the options.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/Compile.h"
#include "test/fuzz/Folder.h"
#include "test/fuzz/ModelMutator.h"

#include "sluice/Onnx/ModelFile.h"

#include <onnx/onnx_pb.h>

using namespace sluice;

/// What the bytes are as a model, whether or not it is valid.
static bool parse(std::string_view bytes, ::onnx::ModelProto &model) {
  if (!bytes.starts_with('<'))
    return bytes.size() < size_t(1) << 20 && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  auto text = ModelFile::fromText(bytes, "fuzz.onnxtxt");
  if (text)
    model = text->proto();
  return text.has_value();
}

static size_t write(const ::onnx::ModelProto &model, uint8_t *data, size_t most) {
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > most)
    return 0;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  ::onnx::ModelProto model;
  if (!parse({reinterpret_cast<const char *>(data), size}, model))
    return LLVMFuzzerMutate(data, size, most);
  fuzz::mutateModel(model, seed);
  const size_t written = write(model, data, most);
  return written > 0 ? written : size;
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t otherSize,
                                            uint8_t *out, size_t most, unsigned seed) {
  ::onnx::ModelProto model, second;
  if (!parse({reinterpret_cast<const char *>(data), size}, model) ||
      !parse({reinterpret_cast<const char *>(other), otherSize}, second))
    return 0;
  fuzz::crossModels(model, second, seed);
  return write(model, out, most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ::onnx::ModelProto model;
  if (!parse({reinterpret_cast<const char *>(data), size}, model))
    return 0;
  CompilerOptions options = fuzz::optionsOf(static_cast<uint64_t>(model.model_version()));
  auto file = ModelFile::fromProto(::onnx::ModelProto(model), "fuzz.onnx", {});
  if (!file)
    return 0;
  for (const SymbolUse &use : symbolicDims(*file))
    options.dims.values[use.symbol] = 2;
  // External data of models that name it.
  [[maybe_unused]] static const std::string outside = fuzz::fileWith("data.bin", std::string(256, '\x3c'));
  if (const Status compiled = fuzz::compileToObjects(fuzz::fileWith("fuzz.onnx", model.SerializeAsString()), options);
      !compiled)
    fuzz::abortOnBug(compiled.error());
  return 0;
}
