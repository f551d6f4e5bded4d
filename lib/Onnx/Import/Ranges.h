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

/// A point in messages: "batch=1, sequence=8".
std::string describePoint(dataflow::SymbolsAttr symbols, const dataflow::Point &point);

/// Makes the program that equals `programs[i]` at each `points[i]`. The points are the sample points of `symbols` and
/// others. The programs may differ only in extents, small integer constants and starts of slices. Changes and returns
/// the first program, which is that of the upper bounds. Fails and names the node, and the points at which the programs
/// differ otherwise. If several expressions fit an extent, adds points that decide between them to `ties`; then the
/// result must not be used.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> generalize(dataflow::SymbolsAttr symbols,
                                                       llvm::ArrayRef<dataflow::Point> points,
                                                       std::vector<mlir::OwningOpRef<mlir::ModuleOp>> programs,
                                                       std::vector<dataflow::Point> &ties);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RANGES_H
