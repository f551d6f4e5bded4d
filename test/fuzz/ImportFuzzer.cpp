//===- ImportFuzzer.cpp - Any bytes as a model ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Opening and importing any bytes gives a verified module or an error. Input
// that begins with '<' is textual ONNX, so that mutations of operators and
// attributes reach the converters.
//
//===----------------------------------------------------------------------===//
#include "test/fuzz/Contexts.h"

#include "sluice/Onnx/Import.h"

#include "mlir/IR/Verifier.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  auto model = bytes.starts_with('<') ? sluice::ModelFile::fromText(bytes, "fuzz.onnxtxt")
                                      : sluice::ModelFile::fromBytes(bytes, "fuzz.onnx");
  if (!model)
    return 0;
  sluice::ImportOptions options;
  for (const sluice::SymbolUse &use : sluice::symbolicDims(*model))
    options.dims.values[use.symbol] = 2;
  const auto context = sluice::fuzz::nextContext([] { return std::make_shared<mlir::MLIRContext>(); });
  auto module = sluice::importModel(*context, *model, options);
  if (module && mlir::failed(mlir::verify(**module)))
    std::abort();
  return 0;
}
