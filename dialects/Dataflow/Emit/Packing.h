//===- Packing.h - Contractions as their emitters describe them -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_PACKING_H
#define SLUICE_DATAFLOW_EMIT_PACKING_H

#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "dialects/Dataflow/IR/MatmulShape.h"

namespace sluice::dataflow {

/// One matrix product of a batch, or the whole batch as one taller product where
/// all of it shares one right-hand side. The same before and after packing, so
/// that a panel's width is.
emit::MatmulSpec describeMatmul(MatmulOp op);
/// What a tuning can choose for the loops of a matrix product, and what the compiler chooses.
void describeTuningSpace(const emit::MatmulSpec &spec, const emit::VectorTarget &target, TunableKernel &kernel);
/// A convolution over images, of either layout.
emit::ConvSpec describeConv(ConvOp op);
/// The same at the lower bounds of symbols.
emit::ConvSpec describeLeastConv(ConvOp op);
/// Fails, after an error on `op`, if its weight is not packed in blocks of `block`.
llvm::LogicalResult checkPackedWeight(mlir::Operation *op, mlir::Value weight, int64_t block);
/// One by Winograd's algorithm, by its packed weight.
emit::WinogradSpec describeWinograd(ConvOp op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_PACKING_H
