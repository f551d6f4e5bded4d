//===- IntegerProductIr.h - Loops of the integer product emitters ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declarations that only the Integer*.cpp files use.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"

namespace sluice::emit::detail {

/// A number, or a value of the step that is at most the number.
struct Size {
  int64_t number;
  Value value = {};

  Value in(Ir &ir) const { return value ? value : ir.constant(number); }
  Value times(Ir &ir, Value a) const { return value ? ir.mul(a, value) : ir.mul(a, number); }
  Value quotient(Ir &ir, Value a) const { return value ? ir.div(a, value) : ir.div(a, number); }
  Value remainder(Ir &ir, Value a) const { return value ? ir.rem(a, value) : ir.rem(a, number); }
  /// The size divided by `by`, rounded up.
  Size parts(Ir &ir, int64_t by) const {
    return {(number + by - 1) / by, value ? ir.div(ir.add(value, by - 1), by) : Value()};
  }
};

/// The part of one run that a work item computes.
struct IntegerRun {
  Value panelIndex, panelPointer;
  Value run, runPointer; ///< The run's number, and the address of its row 0 in A.
  Value firstRun;        ///< The first run of the work item.
  Value hasNewRows;      ///< Whether the rows differ from those of the previous item of the call, or there is none.
  Value rowBegin, rowEnd;
};
void forEachRun(Ir &ir, const IntegerSpec &spec, const IntegerBlocking &blocking, const IntegerOperands &operands,
                WorkItems items, llvm::function_ref<void(const IntegerRun &)> body);

/// The sums after all taps: `segment(lhs, weights, sums)` adds one tap, whose elements of A and of the panel begin at
/// `lhs` and `weights`.
Accumulators forEachTap(Ir &ir, const IntegerSpec &spec, const IntegerExtents &extents, Value lhs, Value panel,
                        ValueRange sums,
                        llvm::function_ref<Accumulators(Value lhs, Value weights, ValueRange sums)> segment);

/// The sums after all products of a part of A with a part of B: `products(lhs, weights, sums)` adds those of the parts
/// that begin at `lhs` and `weights`. Bytes have one part.
Accumulators forEachPart(Ir &ir, const IntegerSpec &spec, const IntegerOperands &operands, Value lhs, Value weights,
                         ValueRange sums,
                         llvm::function_ref<Accumulators(Value lhs, Value weights, ValueRange sums)> products);

/// Calls the sink for `valid` sums of one row at the address `sums`. `first` is the column of the first one.
void sinkColumns(Ir &ir, Size valid, int64_t lanes, Value sums, ValueRange outer, Value first, SinkFn sink);
/// Calls `emit` for the columns that panel `index` has.
void emitPanelWidths(Ir &ir, const IntegerPanels &panels, const IntegerExtents &extents, Value index,
                     llvm::function_ref<void(Size)> emit);

/// emitIntegerProduct for IntegerDot::Tiles.
void emitIntegerTiles(Ir &ir, const IntegerSpec &spec, const VectorTarget &target, const IntegerOperands &operands,
                      WorkItems items, SinkFn sink);

} // namespace sluice::emit::detail

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCTIR_H
