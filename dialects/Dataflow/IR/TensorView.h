//===- TensorView.h - Host data of a tensor type ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_TENSORVIEW_H
#define SLUICE_DATAFLOW_IR_TENSORVIEW_H

#include "sluice/Support/Count.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace sluice::dataflow {
using sluice::Count;

/// Dense row-major data, not owned. i1 and types of 4 and 2 bits take a byte an
/// element, signed integers extended to it.
struct TensorView {
  mlir::RankedTensorType type;
  const char *data = nullptr;
};
struct MutableTensorView {
  mlir::RankedTensorType type;
  char *data = nullptr;
};

/// Bytes of an element of text, and its alignment: the runtime's sluice_string.
inline constexpr int64_t kStringBytes = 16;

/// Bytes an element takes in memory: at least one.
int64_t elementBytes(mlir::Type elementType);
/// Of a static type, unaligned.
Count tensorBytes(mlir::Type tensorType);
Count elementCount(mlir::Type tensorType);

/// A float of 8 or 4 bits: f8E4M3FN, f8E5M2, their FNUZ kin, f8E8M0FNU, f4E2M1FN.
bool isSmallFloat(mlir::Type elementType);
/// The type element values are computed in: smaller floats as f32, unsigned
/// integers as signless of the same width. Strings are moved as integers of
/// 128 bits, which is for kernels alone.
mlir::Type computeType(mlir::Type elementType);
/// uiN or i1: zero-extends, compares unsigned.
bool isUnsignedElement(mlir::Type elementType);

/// !dataflow.string: an element of a tensor of text.
bool isString(mlir::Type elementType);
/// Whether the operator reads or writes text: it runs where host memory is.
bool usesStrings(mlir::Operation *op);

namespace detail {
Count totalElements(mlir::TypeRange types);
Count totalBytes(mlir::TypeRange types);
} // namespace detail

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_TENSORVIEW_H
