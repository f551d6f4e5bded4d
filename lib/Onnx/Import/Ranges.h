//===- Ranges.h - One program for ranges of dimensions ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_RANGES_H
#define SLUICE_LIB_ONNX_IMPORT_RANGES_H

#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sluice::onnximport {

/// A point for people: "batch=1, sequence=8".
std::string describePoint(dataflow::SymbolsAttr symbols, const dataflow::Point &point);

/// The program that is `programs[i]` at `points[i]`, the sample points of `symbols` and others. The programs must be
/// alike but for extents, small integer constants and where slices start. Takes the first, at the upper bounds, and
/// changes it. Fails with the node, and the points that tell the programs apart. Where several expressions fit an
/// extent, points that decide between them are added to `ties`, and the result must not be used.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> generalize(dataflow::SymbolsAttr symbols,
                                                       llvm::ArrayRef<dataflow::Point> points,
                                                       std::vector<mlir::OwningOpRef<mlir::ModuleOp>> programs,
                                                       std::vector<dataflow::Point> &ties);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RANGES_H
