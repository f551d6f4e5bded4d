//===- TensorBuilder.h - Dataflow operators, tersely ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// For code that composes operators, such as the importer and the gradients. After an error, methods return a null
// value. They accept null operands, so that a chain of calls needs only one check at its end.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_TENSORBUILDER_H
#define SLUICE_DATAFLOW_IR_TENSORBUILDER_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include <string>

namespace sluice::dataflow {

using Dims = llvm::SmallVector<int64_t>;

/// The dimensions [first, rank).
inline Dims trailingAxes(int64_t first, int64_t rank) {
  Dims axes;
  for (int64_t axis = first; axis < rank; ++axis)
    axes.push_back(axis);
  return axes;
}

/// Creates and checks operators at the end of the function, and folds those whose results are constant and small.
class TensorBuilder {
public:
  TensorBuilder(mlir::OpBuilder &builder, mlir::Location location) : builder(builder), location(location) {}

  /// Creates an operator with inferred result types, or with given ones if the operator infers none. Returns null if
  /// the operands do not fit; `message()` then says why.
  template <typename OpTy>
  llvm::SmallVector<mlir::Value> createAll(mlir::ValueRange operands,
                                           llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                                           mlir::TypeRange types = {}) {
    return create(OpTy::getOperationName(), operands, attributes, types);
  }
  template <typename OpTy>
  mlir::Value create(mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                     mlir::TypeRange types = {}) {
    auto results = createAll<OpTy>(operands, attributes, types);
    return results.empty() ? mlir::Value() : results.front();
  }

  /// Creates an operator of the same kind, with the attributes of `op` except for those in `changed`. An operator with
  /// regions is copied with its attributes and types.
  llvm::SmallVector<mlir::Value> createLike(mlir::Operation *op, mlir::ValueRange operands,
                                            llvm::ArrayRef<mlir::NamedAttribute> changed, mlir::TypeRange types);

  mlir::Value unary(UnaryKind kind, mlir::Value x, double alpha = 0, double beta = 0);
  mlir::Value binary(BinaryKind kind, mlir::Value lhs, mlir::Value rhs);
  mlir::Value compare(ComparePredicate predicate, mlir::Value lhs, mlir::Value rhs);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue, mlir::Value onFalse);
  /// Casts `x`; returns `x` itself if it has that element type already.
  mlir::Value cast(mlir::Value x, mlir::Type elementType, bool saturate = false);
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, bool transposeLhs = false, bool transposeRhs = false);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> dims);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<int64_t> dims);
  /// Slices elements [start, start + extent) of one axis.
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, int64_t start, int64_t extent);
  mlir::Value concat(mlir::ValueRange values, int64_t axis);
  mlir::Value softmax(mlir::Value x, int64_t axis, bool log);
  mlir::Value instanceNorm(mlir::Value x, mlir::Value scale, mlir::Value bias, double epsilon);
  /// The numbers 0, 1, ... along `axis` of a tensor of rank `rank`, whose other extents are 1.
  mlir::Value iota(mlir::Type elementType, int64_t extent, int64_t axis, int64_t rank);

  /// A tensor of `dims`, every element `value`.
  mlir::Value splat(mlir::Type elementType, double value, llvm::ArrayRef<int64_t> dims = {});
  mlir::Value integers(llvm::ArrayRef<int64_t> values);

  mlir::Value add(mlir::Value a, mlir::Value b) { return binary(BinaryKind::add, a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return binary(BinaryKind::sub, a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return binary(BinaryKind::mul, a, b); }
  mlir::Value div(mlir::Value a, mlir::Value b) { return binary(BinaryKind::div, a, b); }

  mlir::NamedAttribute attribute(llvm::StringRef name, mlir::Attribute value) {
    return builder.getNamedAttr(name, value);
  }
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value) {
    return attribute(name, builder.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute number(llvm::StringRef name, double value) {
    return attribute(name, builder.getF64FloatAttr(value));
  }
  mlir::NamedAttribute flag(llvm::StringRef name, bool value) { return attribute(name, builder.getBoolAttr(value)); }
  mlir::NamedAttribute list(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return attribute(name, builder.getDenseI64ArrayAttr(values));
  }

  /// A static tensor type; null, with a message, if an extent is negative or there are more than 2^59 elements.
  mlir::RankedTensorType type(mlir::Type elementType, llvm::ArrayRef<int64_t> dims);

  /// Whether operators that have no effect at these sizes must be built, because they have an effect at others.
  bool keepsAll() const { return foldLog() != nullptr; }
  /// A choice that depends on sizes: returns the choice that was made at the upper bounds. A choice that is valid there
  /// must be valid for smaller sizes.
  bool decide(bool choice) const { return foldLog() ? foldLog()->decide(choice) : choice; }

  mlir::OpBuilder &mlir() { return builder; }
  mlir::MLIRContext *context() { return builder.getContext(); }
  mlir::Location loc() const { return location; }
  const std::string &message() const { return whyNot; }

private:
  /// Null if all operators that can fold do.
  FoldLog *foldLog() const;
  llvm::SmallVector<mlir::Value> create(llvm::StringRef name, mlir::ValueRange operands,
                                        llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::TypeRange types);

  mlir::OpBuilder &builder;
  mlir::Location location;
  std::string whyNot;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_TENSORBUILDER_H
