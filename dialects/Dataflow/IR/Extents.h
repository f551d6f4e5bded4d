//===- Extents.h - Extents that a step gives --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program may serve ranges of extents. Its symbols are integers, within bounds, that each step gives. The shape of a
// tensor type has the extents at the symbols' upper bounds, for which memory is planned. The encoding of the type, a
// #dataflow.extents, has the expressions of a step's extents. Elements are dense at the extents of the step. A program
// with symbols means one static program for each point, that is, for each choice of the symbols' values: `typeAt` gives
// the types of that program.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_EXTENTS_H
#define SLUICE_DATAFLOW_IR_EXTENTS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "mlir/IR/AffineExpr.h"

#include <optional>
#include <vector>

namespace sluice::dataflow {

/// A value for each symbol.
using Point = std::vector<int64_t>;

/// An extent: a number, or an expression of symbols.
class Extent {
public:
  Extent(int64_t value) : upper(value) {} // NOLINT(google-explicit-constructor): numbers are extents.
  /// The extent `expression` of `symbols`; it becomes a number if it is constant.
  Extent(mlir::AffineExpr expression, SymbolsAttr symbols);

  bool isConstant() const { return !expression; }
  std::optional<int64_t> constant() const { return expression ? std::nullopt : std::optional(upper); }
  /// Whether the extent is this number at every point.
  bool is(int64_t value) const { return !expression && upper == value; }
  /// The value at the symbols' upper bounds.
  int64_t most() const { return upper; }
  int64_t at(const Point &point) const;
  /// Null for a number.
  mlir::AffineExpr expr() const { return expression; }
  /// Null for a number.
  SymbolsAttr symbols() const { return of; }

  Extent operator+(const Extent &other) const;
  Extent operator-(const Extent &other) const;
  Extent operator*(const Extent &other) const;
  /// The quotient by a positive number, rounded down.
  Extent operator/(int64_t by) const;
  Extent operator%(int64_t by) const;
  /// The quotient by a positive number, rounded up.
  Extent ceilDiv(int64_t by) const { return (*this + Extent(by - 1)) / by; }
  /// Whether the expressions are the same. Different expressions may still have the same values.
  bool operator==(const Extent &other) const { return upper == other.upper && expression == other.expression; }

private:
  template <typename Numbers, typename Expressions>
  Extent combine(const Extent &other, Numbers numbers, Expressions expressions) const;

  int64_t upper = 0;
  mlir::AffineExpr expression;
  SymbolsAttr of;
};
using Extents = llvm::SmallVector<Extent>;

/// The product of extents; 1 if there are none.
Extent productOf(llvm::ArrayRef<Extent> extents);

/// The encoding of a type; null if its extents are numbers.
ExtentsAttr extentsOf(mlir::Type type);
/// A type's extents, one for each dimension.
Extents extentsOf(mlir::RankedTensorType type);
inline Extents extentsOf(mlir::Value value) { return extentsOf(mlir::cast<mlir::RankedTensorType>(value.getType())); }
/// The symbols of a type, or of all types that an operator and its members have; null if there are none.
SymbolsAttr symbolsOf(mlir::Type type);
SymbolsAttr symbolsOf(mlir::Operation *op);

/// The type of these extents, without an encoding if all are numbers.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<Extent> extents, mlir::Type elementType);
/// The type with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type elementType);
/// The type with its dimensions in another order: dimension i is `permutation[i]` of `type`.
mlir::RankedTensorType permutedType(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);
/// Whether types have the same extents at every point; element types may differ.
bool haveSameShape(mlir::Type a, mlir::Type c);
/// The static type of a type at a point of its symbols.
mlir::RankedTensorType typeAt(mlir::RankedTensorType type, const Point &point);
/// The value of an expression without dimensions; nullopt if it exceeds 64 bits or divides by zero.
std::optional<int64_t> valueAt(mlir::AffineExpr expression, llvm::ArrayRef<int64_t> symbols);

/// Points that tell expressions apart: all points if there are few, else the corners of the symbols' ranges, neighbours
/// of the upper bounds, and some points between. The upper bounds come first. The list depends only on the symbols.
std::vector<Point> samplePoints(SymbolsAttr symbols);

/// Finds an expression that has these values at these points: a number, a multiple or a quotient of one extent of
/// `basis`, or a sum or product of two. Returns nullopt if there is none. `basis` need not contain the symbols
/// themselves. If several quotients have these values but differ at other points, points that tell them apart are added
/// to `ties`. The result is reliable only if it also fits at those.
std::optional<Extent> fitExtent(SymbolsAttr symbols, llvm::ArrayRef<Point> points, llvm::ArrayRef<int64_t> values,
                                llvm::ArrayRef<Extent> basis, std::vector<Point> &ties);
/// How many times points of `ties` may be added before the extents count as unknown.
inline constexpr int kMostTieRounds = 16;

/// Whether types agree, and their extents have the same values at all sample points.
bool haveSameExtents(mlir::TypeRange a, mlir::TypeRange c);

/// Turns an operation and its regions into the static program of a point: types become static, and constants take the
/// place of dataflow.extents.
void instantiate(mlir::Operation *root, const Point &point);
/// Emits an error and fails if the operation is not a valid program at one of the sample points of its symbols.
llvm::LogicalResult verifyAtPoints(mlir::Operation *root);

namespace detail {
/// Infers result types by `infer`. If an operand's type has symbols, calls `infer` with the static types at sample
/// points and fits the extents. An operand may be a constant; `infer` must not look at other operators that define it.
llvm::LogicalResult
inferRanged(std::optional<mlir::Location> loc, mlir::ValueRange operands, llvm::SmallVectorImpl<mlir::Type> &results,
            llvm::function_ref<llvm::LogicalResult(mlir::ValueRange, llvm::SmallVectorImpl<mlir::Type> &)> infer);
} // namespace detail

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_EXTENTS_H
