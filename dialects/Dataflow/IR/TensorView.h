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

/// A view of dense row-major data, which it does not own. Elements of i1 and of 4 and 2 bits take one byte; signed
/// integers are extended to it.
struct TensorView {
  mlir::RankedTensorType type;
  const char *data = nullptr;
};
struct MutableTensorView {
  mlir::RankedTensorType type;
  char *data = nullptr;
};

/// The bytes and the alignment of an element of text, which is the runtime's sluice_string.
inline constexpr int64_t kStringBytes = 16;

/// The bytes that an element takes in memory, at least one.
int64_t elementBytes(mlir::Type elementType);
/// The bytes of a tensor of static type, without padding for alignment.
Count tensorBytes(mlir::Type tensorType);
Count elementCount(mlir::Type tensorType);

/// Whether the type is a float of 8 or 4 bits: f8E4M3FN, f8E5M2, their FNUZ variants, f8E8M0FNU or f4E2M1FN.
bool isSmallFloat(mlir::Type elementType);
/// The type in which values of elements are computed: f32 for smaller floats, and the signless integer of the same
/// width for unsigned ones. Strings are moved as integers of 128 bits, only in kernels.
mlir::Type computeType(mlir::Type elementType);
/// Whether the type is uiN or i1, which are extended with zeros and compared as unsigned.
bool isUnsignedElement(mlir::Type elementType);

/// Whether the type is !dataflow.string, the element type of text.
bool isString(mlir::Type elementType);
/// Whether the operator reads or writes text. Such an operator must run in the host's memory.
bool usesStrings(mlir::Operation *op);

namespace detail {
Count totalElements(mlir::TypeRange types);
Count totalBytes(mlir::TypeRange types);
} // namespace detail

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_TENSORVIEW_H
