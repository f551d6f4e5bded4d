//===- HostElements.h - Typed access to host data ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Evaluation works on runs of elements, widened to double (floats) or int64 (integers and bool; unsigned 64-bit numbers
// by their bits). So a function needs one loop, not one for each type. A single f32 operation on doubles, rounded once,
// equals the f32 operation for + - * / and sqrt.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_HOSTELEMENTS_H
#define SLUICE_DATAFLOW_IR_HOSTELEMENTS_H

#include "dialects/Dataflow/IR/TensorView.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace sluice::dataflow {

/// The number of elements that are widened at a time.
inline constexpr int64_t kRun = 1024;

/// Reads a tensor as if broadcast to a shape.
class ElementReader {
public:
  ElementReader(TensorView tensor, llvm::ArrayRef<int64_t> resultShape);
  /// Reads elements [start, start + count) of the broadcast tensor, count <= kRun.
  void read(int64_t start, int64_t count, double *out) const;
  void read(int64_t start, int64_t count, int64_t *out) const;

private:
  template <typename T>
  void readAs(int64_t start, int64_t count, T *out) const;
  void offsets(int64_t start, int64_t count, int64_t *out) const;

  TensorView tensor;
  llvm::SmallVector<int64_t> shape;
  /// The tensor's strides, in elements, along the result's dimensions; 0 where elements repeat.
  llvm::SmallVector<int64_t> strides;
  enum { Contiguous, Single, General } access;
};

/// Narrows and stores elements [start, start + count).
void writeElements(MutableTensorView tensor, int64_t start, int64_t count, const double *values);
void writeElements(MutableTensorView tensor, int64_t start, int64_t count, const int64_t *values);

/// Converts like emitCast with `saturate`: clamps to the type's range, and NaN becomes 0.
int64_t clampToInteger(double x, unsigned width, bool isUnsigned);

/// Row-major strides, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Copies elements of `width` bytes: result element i is source element
/// `base` + sum of digit_d(i) * strides[d], digits in base `shape`.
void stridedCopy(const char *source, char *result, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                 int64_t base, int64_t width);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_HOSTELEMENTS_H
