//===- Patterns.h - Patterns of kernel-simplify -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_LOWERKERNELS_PATTERNS_H
#define SLUICE_PASSES_LOWERKERNELS_PATTERNS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

#include <optional>

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace sluice {

/// The float that all lanes of a constant have; nullopt for any other value.
std::optional<double> floatConstant(mlir::Value value);
/// Makes a constant of a float type, the same in all lanes.
mlir::Value makeFloatConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);

/// Whether the target of a module has an instruction for a product and a sum that are rounded once. Without a target
/// there is none.
bool hasFusedMultiplyAdd(mlir::Operation *module);
/// Whether the module has a target, and this has no such instruction.
bool lacksFusedMultiplyAdd(mlir::Operation *module);
/// Whether the module has a target, and this has no instructions that convert vectors of f16 and f32.
bool lacksHalfConversions(mlir::Operation *module);

/// Patterns for quantized values. If `hasFma`, a rounded quotient by a constant becomes multiplications. A whole number
/// that is converted to an integer and back stays a float. The results have the same bits.
void populateRoundedQuotientPatterns(mlir::RewritePatternSet &patterns, bool hasFma);
/// Patterns for exp in f32, as arithmetic without fused multiply-adds.
void populateExponentialPatterns(mlir::RewritePatternSet &patterns);

} // namespace sluice

#endif // SLUICE_PASSES_LOWERKERNELS_PATTERNS_H
