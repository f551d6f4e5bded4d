//===- SimplifyTransposes.h - Transposes around a concat --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_SIMPLIFYTRANSPOSES_H
#define SLUICE_PASSES_SIMPLIFYTRANSPOSES_H

#include "mlir/IR/PatternMatch.h"

namespace sluice {

/// Adds the patterns of dataflow-simplify that remove transposes of a concat's operands and result.
void addTransposePatterns(mlir::RewritePatternSet &patterns);

} // namespace sluice

#endif // SLUICE_PASSES_SIMPLIFYTRANSPOSES_H
