//===- Reference.h - What operators mean, in plain loops --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An interpreter of the dialect that shares nothing with the kernels: operators
// that evaluate themselves do, the others are written here after the formulas of
// their ONNX counterparts, one element at a time, in double.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_REFERENCE_H
#define SLUICE_TEST_UNIT_DATAFLOW_REFERENCE_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace sluice {
class Rng;
} // namespace sluice

namespace sluice::test {

struct Fill;

using Index = llvm::SmallVector<int64_t>;

/// Dense data with numbers read and written as double: exact for every element
/// type but 64-bit integers beyond 2^53.
struct Tensor {
  mlir::RankedTensorType type;
  std::vector<char> bytes;

  explicit Tensor(mlir::Type type);
  int64_t size() const { return count; }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  mlir::Type element() const { return type.getElementType(); }
  double get(int64_t linear) const;
  void set(int64_t linear, double value);
  double at(llvm::ArrayRef<int64_t> index) const { return get(linearOf(index)); }
  int64_t linearOf(llvm::ArrayRef<int64_t> index) const;
  /// As at(), numpy-broadcast to an index of any rank above its own.
  double broadcastAt(llvm::ArrayRef<int64_t> index) const;
  dataflow::TensorView view() const { return {type, bytes.data()}; }

private:
  /// How the bytes of an element are a number. Found once: the references read elements millions of times.
  enum class Coding { F32, F64, OtherFloat, Unsigned, Signed };
  Coding coding;
  const llvm::fltSemantics *semantics = nullptr; ///< Of floats.
  int64_t width, count;                          ///< Bytes of an element, and elements.
};

/// Calls fn with every index of a shape, row-major.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> fn);

Tensor makeInput(mlir::Type type, const Fill &fill, Rng &rng);
/// Relative above 1, absolute below.
double defaultTolerance(mlir::Type element);
/// The first element that differs, as text; "" where none does.
std::string difference(const Tensor &actual, const Tensor &expected, double tolerance);

using Environment = llvm::DenseMap<mlir::Value, Tensor>;

/// Computes the results of `op`, whose operands are in `values`, into it.
void interpret(mlir::Operation *op, Environment &values);

/// Each is true where it knows the operator.
bool interpretWindows(mlir::Operation *op, Environment &values);
bool interpretRows(mlir::Operation *op, Environment &values);
bool interpretMl(mlir::Operation *op, Environment &values);
bool interpretVision(mlir::Operation *op, Environment &values);
bool interpretTraining(mlir::Operation *op, Environment &values);
bool interpretIntegers(mlir::Operation *op, Environment &values);
bool interpretHalves(mlir::Operation *op, Environment &values);
bool interpretBlocks(mlir::Operation *op, Environment &values);
bool interpretControl(mlir::Operation *op, Environment &values);

/// What a value is outside the groups it was handed into.
mlir::Value sourceOf(mlir::Value value);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_DATAFLOW_REFERENCE_H
