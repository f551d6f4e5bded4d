//===- BlockProductIr.h - What products by blocks share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declarations that only the Block*.cpp files use.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCTIR_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCTIR_H

#include "dialects/Dataflow/Emit/BlockProduct.h"
#include "dialects/Dataflow/Emit/ContractionIr.h"

namespace sluice::emit::detail {

/// One value for each vector of a panel's columns.
using PanelRow = llvm::SmallVector<Value, 2>;

/// Reads panels, and hands the sums of their columns to the sink.
class BlockReader {
public:
  BlockReader(Ir &ir, const BlockSpec &spec, const VectorTarget &target, const BlockOperands &operands, SinkFn sink)
      : ir(ir), spec(spec), panels(spec.panels), target(target), operands(operands),
        tile(chooseTile(1, panels.n, 32, target)), lanes(tile.lanes), sink(sink) {}

protected:
  Type byte() { return ir.b.getI8Type(); }
  Type vector(Type element) { return lanes == 1 ? element : Type(mlir::VectorType::get({lanes}, element)); }
  Value loadUnaligned(Value pointer, Type element) {
    return mlir::LLVM::LoadOp::create(ir.b, ir.loc, vector(element), pointer, /*alignment=*/1);
  }
  Value word(uint32_t value);
  Value panelAt(Value panel) { return ir.at(operands.packed, ir.mul(panel, panels.panelBytes()), byte()); }
  Value blockAt(Value panel, Value number) { return ir.at(panel, ir.mul(number, panels.blockBytes()), byte()); }
  PanelRow loadScales(Value block);
  /// The zero points of a block as floats; empty if the block has none.
  PanelRow loadZeros(Value block);
  /// With `anew`, the loads are volatile, so that the compiler does not use values that it has loaded before.
  PanelRow loadWords(Value words, bool anew = false);
  /// Whether sums of `rows` rows go through scratch of [rows][panel] elements to the sink.
  bool isLooped(int64_t rows) const { return spec.sinkStyle == SinkStyle::Looped || rows > 1; }
  void emitSink(Value panel, Value firstRow, int64_t rows, ValueRange sums, Value scratch);

  Ir &ir;
  const BlockSpec &spec;
  const BlockPanels &panels;
  const VectorTarget &target;
  const BlockOperands &operands;
  RegisterTile tile; ///< The register tile for one row.
  int64_t lanes;
  SinkFn sink;
};

/// The rows of a work item if rows are rounded.
int64_t byteRowBlock(const BlockSpec &spec, const VectorTarget &target);
/// emitBlockProduct for rounded rows.
void emitByteBlocks(Ir &ir, const BlockSpec &spec, const VectorTarget &target, const BlockOperands &operands,
                    WorkItems items, SinkFn sink);

} // namespace sluice::emit::detail

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCTIR_H
