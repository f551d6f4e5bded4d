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

/// The opset of exported models. If an operator of the program only exists in a newer opset, the model has this newer
/// opset.
inline constexpr int64_t kExportOpset = 17;

/// Writes the module's only function as an ONNX model. The function must be imported or simplified, and not yet laid
/// out or fused. Inputs, outputs and weights keep their names. Nodes get unique names, which are made from the
/// locations of the operators. Attributes `dataflow.KEY` of operators become node metadata `sluice.KEY`. Importing the
/// written model gives the same program, except for a few operators that ONNX cannot express as one node
/// (docs/rationale/export.md). Exporting that program again gives the same bytes. In a program with symbols, dimensions
/// of inputs are symbolic, and nodes compute everything that depends on the symbols; importing the model needs the same
/// ranges.
///
/// Fails if ONNX cannot express some operators, with one error that lists all of them; if the data of a weight is
/// missing; and if the model is too large for a single file that was requested. The file is written beside `path` and
/// then renamed.
Status exportModel(mlir::ModuleOp module, const std::string &path, const ExportOptions &options = {});

/// Exports to memory, with all weights inside.
Expected<std::string> exportModelBytes(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_ONNX_EXPORT_H
