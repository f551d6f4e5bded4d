//===- Export.h - The dataflow dialect to ONNX ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_ONNX_EXPORT_H
#define SLUICE_ONNX_EXPORT_H

#include "sluice/Onnx/ExportOptions.h"
#include "sluice/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace sluice {

/// The opset of exported models. If an operator of the program only exists in a newer opset, that one is used.
inline constexpr int64_t kExportOpset = 17;

/// Writes the module's one function, of operators as the importer makes them (imported or simplified, not laid out or
/// fused), as an ONNX model. Inputs, outputs and weights keep their names; nodes are named after operators' locations,
/// each name once; operators' attributes `dataflow.KEY` become node metadata `sluice.KEY`. Importing the result gives
/// the same program, and exporting that the same bytes. A program with symbols has the dimensions that give them, and
/// nodes that compute what else depends on them; importing it takes the same ranges.
///
/// Fails if ONNX cannot express some operators, with one error that lists all of them; if the data of a weight is
/// missing; and if the model is too large for a single file that was requested. The file is written beside `path` and
/// then renamed.
Status exportModel(mlir::ModuleOp module, const std::string &path, const ExportOptions &options = {});

/// Exports to memory, with all weights inside.
Expected<std::string> exportModelBytes(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_ONNX_EXPORT_H
