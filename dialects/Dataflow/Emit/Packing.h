//===- Packing.h - Contractions as their emitters describe them -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_PACKING_H
#define SLUICE_DATAFLOW_EMIT_PACKING_H

#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "dialects/Dataflow/IR/MatmulShape.h"

namespace sluice::dataflow {

/// Describes one matrix product of a batch, or the whole batch as one taller product if all of it shares one right-hand
/// side. The result is the same before and after packing, so that the width of panels is too.
emit::MatmulSpec describeMatmul(MatmulOp op);
/// Describes what a tuning can choose for the loops of a matrix product, and what the compiler chooses.
void describeTuningSpace(const emit::MatmulSpec &spec, const emit::VectorTarget &target, TunableKernel &kernel);
/// Describes a convolution over images of either layout.
emit::ConvSpec describeConv(ConvOp op);
/// Describes it at the lower bounds of symbols.
emit::ConvSpec describeLeastConv(ConvOp op);
/// Emits an error on `op` and fails if its weight is not packed in blocks of `block`.
llvm::LogicalResult checkPackedWeight(mlir::Operation *op, mlir::Value weight, int64_t block);
/// Describes a convolution by Winograd's algorithm, from its packed weight.
emit::WinogradSpec describeWinograd(ConvOp op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_PACKING_H
