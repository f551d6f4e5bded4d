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
#include "test/fuzz/Sizes.h"

#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"

#include "mlir/IR/Verifier.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace sluice;

namespace {

/// What each model is imported for.
enum class Purpose { OneSize, Ranges, FoundExtents, Training };

ImportOptions optionsFor(const ModelFile &model, Purpose purpose) {
  ImportOptions options;
  for (const SymbolUse &use : symbolicDims(model))
    if (purpose == Purpose::Ranges)
      options.dims.ranges[use.symbol] = {1, 4};
    else
      options.dims.values[use.symbol] = 2;
  for (const DeclaredTensor &input : model.inputs())
    if (input.kind == "sequence")
      options.dims.sequences[input.name] = {{2}, {2}};
    else if (!input.dims)
      options.dims.inputShapes[input.name] = {2, 2};
  options.maxIterations = 3;
  options.findsExtents = purpose == Purpose::FoundExtents;
  options.unrollsLoops = options.hasGrids = purpose == Purpose::Training;
  if (purpose == Purpose::Training)
    options.training = TrainingImport();
  return options;
}

[[noreturn]] void abortWith(const char *what, const std::string &message) {
  std::fprintf(stderr, "ERROR: %s: %s\n", what, message.c_str());
  std::abort();
}

/// A program that can be written as a model can be read again. There are two exceptions: a step that fails for some of
/// the extents that it finds, and a branch that asks for what is not there. Short branches both run, and in the written
/// model they are no branches any more.
void checkExport(mlir::MLIRContext &context, mlir::ModuleOp module, const ImportOptions &options, bool hasBranches) {
  const Expected<std::string> written = exportModelBytes(module);
  if (!written) {
    if (written.error().code == ErrorCode::Internal)
      abortWith("export", written.error().message);
    return;
  }
  Expected<ModelFile> again = ModelFile::fromBytes(*written, "again.onnx");
  if (!again)
    abortWith("open again", again.error().message);
  ImportOptions own;
  own.dims.ranges = options.dims.ranges;
  own.findsExtents = options.findsExtents;
  const auto imported = importModel(context, *again, own);
  if (!imported && (!(options.findsExtents || hasBranches) || imported.error().code == ErrorCode::Internal))
    abortWith("import again", imported.error().message);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  auto model =
      bytes.starts_with('<') ? ModelFile::fromText(bytes, "fuzz.onnxtxt") : ModelFile::fromBytes(bytes, "fuzz.onnx");
  if (!model)
    return 0;
  const auto context = fuzz::nextContext([] { return std::make_shared<mlir::MLIRContext>(); });
  const bool hasSymbols = !symbolicDims(*model).empty();
  const auto &nodes = model->graph().node();
  const bool hasBranches =
      std::any_of(nodes.begin(), nodes.end(), [](const auto &node) { return node.op_type() == "If"; });
  for (const Purpose purpose : {Purpose::OneSize, Purpose::Ranges, Purpose::FoundExtents, Purpose::Training}) {
    if (purpose == Purpose::Ranges && !hasSymbols)
      continue;
    const ImportOptions options = optionsFor(*model, purpose);
    auto module = importModel(*context, *model, options);
    if (module && mlir::failed(mlir::verify(**module)))
      abortWith("the imported program is invalid", "");
    if (module && purpose != Purpose::Training && fuzz::isSmall(**module))
      checkExport(*context, **module, options, hasBranches);
  }
  return 0;
}
