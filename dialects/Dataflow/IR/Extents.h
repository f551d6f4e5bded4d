//===- Extents.h - Extents that a step gives --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A program may serve ranges of extents. Its symbols are integers that each step gives, within bounds. A tensor type
// has the extents at the symbols' upper bounds as its shape, for which memory is planned, and the expressions that give
// the extents of a step as its encoding, a #dataflow.extents. Elements lie dense at the extents of the step. A program
// with symbols means one static program for each point, that is for each choice of the symbols' values: `typeAt` gives
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
  /// `expression` of `symbols`, which becomes a number where it is one.
  Extent(mlir::AffineExpr expression, SymbolsAttr symbols);

  bool isConstant() const { return !expression; }
  std::optional<int64_t> constant() const { return expression ? std::nullopt : std::optional(upper); }
  /// Whether it is this number at every point.
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
  /// Rounded down, by a positive number.
  Extent operator/(int64_t by) const;
  Extent operator%(int64_t by) const;
  /// Rounded up, by a positive number.
  Extent ceilDiv(int64_t by) const { return (*this + Extent(by - 1)) / by; }
  /// The same expression. Expressions in two forms may have the same value and differ.
  bool operator==(const Extent &other) const { return upper == other.upper && expression == other.expression; }

private:
  template <typename Numbers, typename Expressions>
  Extent combine(const Extent &other, Numbers numbers, Expressions expressions) const;

  int64_t upper = 0;
  mlir::AffineExpr expression;
  SymbolsAttr of;
};
using Extents = llvm::SmallVector<Extent>;

/// The product, 1 of none.
Extent productOf(llvm::ArrayRef<Extent> extents);

/// The encoding of a type; null where its extents are numbers.
ExtentsAttr extentsOf(mlir::Type type);
/// A type's extents, one for each dimension.
Extents extentsOf(mlir::RankedTensorType type);
inline Extents extentsOf(mlir::Value value) { return extentsOf(mlir::cast<mlir::RankedTensorType>(value.getType())); }
/// The symbols of a type, or of any type that an operator or its members have; null where there are none.
SymbolsAttr symbolsOf(mlir::Type type);
SymbolsAttr symbolsOf(mlir::Operation *op);

/// The type of these extents: static where all are numbers.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<Extent> extents, mlir::Type elementType);
/// The type with another element type.
mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type elementType);
/// The type with its dimensions in another order: dimension i is `permutation[i]` of `type`.
mlir::RankedTensorType permutedType(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);
/// Whether types have the same extents at every point; element types may differ.
bool haveSameShape(mlir::Type a, mlir::Type c);
/// The static type that a type is at a point of its symbols.
mlir::RankedTensorType typeAt(mlir::RankedTensorType type, const Point &point);
/// The value of an expression without dimensions; nullopt where it exceeds 64 bits or divides by zero.
std::optional<int64_t> valueAt(mlir::AffineExpr expression, llvm::ArrayRef<int64_t> symbols);

/// Points that tell expressions apart: all of them where these are few, else the corners of the symbols' ranges,
/// neighbours of the upper bounds, and some between. The upper bounds come first. The same list for the same symbols.
std::vector<Point> samplePoints(SymbolsAttr symbols);

/// An expression that has these values at these points: a number, a multiple or a quotient of one of `basis`, or a sum
/// or product of two. Nullopt where there is none of these. `basis` need not have the symbols themselves. Several
/// quotients may have these values at these points and others elsewhere: points that tell them apart are added to
/// `ties`, and only a fit at those too can be trusted.
std::optional<Extent> fitExtent(SymbolsAttr symbols, llvm::ArrayRef<Point> points, llvm::ArrayRef<int64_t> values,
                                llvm::ArrayRef<Extent> basis, std::vector<Point> &ties);
/// How often points that decide ties may be added before the extents count as unknown.
inline constexpr int kMostTieRounds = 16;

/// Whether types agree, extents at all sample points.
bool haveSameExtents(mlir::TypeRange a, mlir::TypeRange c);

/// Makes an operation and what is within it the program of a point: static types, and constants in the place of
/// dataflow.extents.
void instantiate(mlir::Operation *root, const Point &point);
/// Fails, after an error, where the operation is no valid program at one of the sample points of its symbols.
llvm::LogicalResult verifyAtPoints(mlir::Operation *root);

namespace detail {
/// What `infer` infers from operands, by way of the static types of sample points where an operand's type has symbols.
/// An operand may be a constant; `infer` must not look at what else defines it.
llvm::LogicalResult
inferRanged(std::optional<mlir::Location> loc, mlir::ValueRange operands, llvm::SmallVectorImpl<mlir::Type> &results,
            llvm::function_ref<llvm::LogicalResult(mlir::ValueRange, llvm::SmallVectorImpl<mlir::Type> &)> infer);
} // namespace detail

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_EXTENTS_H
