//===- IntegerProductIr.h - Loops of the integer product emitters ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Private to the Integer*.cpp files.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"

namespace sluice::emit::detail {

/// The part of one run that a work item computes.
struct IntegerRun {
  Value panelIndex, panelPointer;
  Value run, runPointer; ///< Its number, and its row 0 in A.
  Value rowBegin, rowEnd;
};
void forEachRun(Ir &ir, const IntegerSpec &spec, const IntegerBlocking &blocking, const IntegerOperands &operands,
                WorkItems items, llvm::function_ref<void(const IntegerRun &)> body);

/// The sums after all taps: `segment(lhs, weights, sums)` adds one, whose elements of A and of the panel begin there.
Accumulators forEachTap(Ir &ir, const IntegerSpec &spec, Type lhsType, Value lhs, Value panel, ValueRange sums,
                        llvm::function_ref<Accumulators(Value lhs, Value weights, ValueRange sums)> segment);

/// The sums after all products of a part of A with a part of B: `products(lhs, weights, sums)` adds those of the parts
/// that begin there. Bytes have one part.
Accumulators forEachPart(Ir &ir, const IntegerSpec &spec, const IntegerOperands &operands, Value lhs, Value weights,
                         ValueRange sums,
                         llvm::function_ref<Accumulators(Value lhs, Value weights, ValueRange sums)> products);

/// emitIntegerProduct for IntegerDot::Tiles.
void emitIntegerTiles(Ir &ir, const IntegerSpec &spec, const VectorTarget &target, const IntegerOperands &operands,
                      WorkItems items, SinkFn sink);

} // namespace sluice::emit::detail

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H
