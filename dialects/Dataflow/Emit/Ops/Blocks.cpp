//===- Blocks.cpp - Kernels of products by weights in blocks --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/BlockProduct.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/BlockShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// The low `bits` bits of an integer, from bit `first` on, as f32.
static Value emitField(KernelEmitter &kernel, Value bytes, Value first, int64_t bits) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type type = b.getI32Type();
  Value wide = bytes.getType() == type ? bytes : arith::ExtUIOp::create(b, loc, type, bytes).getResult();
  Value shift = arith::IndexCastOp::create(b, loc, type, first);
  Value shifted = arith::ShRUIOp::create(b, loc, wide, shift);
  Value field = arith::AndIOp::create(b, loc, shifted, emitIntConstant(b, loc, type, (int64_t(1) << bits) - 1));
  return arith::SIToFPOp::create(b, loc, b.getF32Type(), field);
}

static Value emitDequantized(KernelEmitter &kernel, Value field, Value zero, Value scale) {
  Value centered = arith::SubFOp::create(kernel.builder(), kernel.loc(), field, zero);
  return arith::MulFOp::create(kernel.builder(), kernel.loc(), centered, scale);
}

/// Element (k, n) of the weight, from its rows.
static Value emitWeight(BlockMatmulOp op, KernelEmitter &kernel, Value k, Value n) {
  const auto bits = static_cast<int64_t>(op.getBits()), block = static_cast<int64_t>(op.getBlock()), each = 8 / bits;
  const int64_t blocks = shapeOf(op.getScales())[1];
  SmallVector<Value> at = kernel.delinearize(k, {blocks, block / each, each});
  Value number = at[0];
  Value field = emitField(kernel, kernel.element(op.getWeight(), {n, number, at[1]}), kernel.mul(at[2], bits), bits);
  Value zeros = op.getZeroPoints(), zero;
  switch (zerosOf(zeros)) {
  case emit::BlockZeros::None:
    zero = kernel.constant(kernel.builder().getF32Type(), static_cast<double>(int64_t(1) << (bits - 1)));
    break;
  case emit::BlockZeros::Bytes: {
    SmallVector<Value> place = kernel.delinearize(number, {shapeOf(zeros)[1], each});
    zero = emitField(kernel, kernel.element(zeros, {n, place[0]}), kernel.mul(place[1], bits), bits);
    break;
  }
  case emit::BlockZeros::Floats:
    zero = kernel.element(zeros, {n, number});
    break;
  }
  return emitDequantized(kernel, field, zero, kernel.element(op.getScales(), {n, number}));
}

/// Element (k, n) of the weight, from its panels.
static Value emitWeight(PackedBlockMatmulOp op, KernelEmitter &kernel, Value k, Value n) {
  OpBuilder &b = kernel.builder();
  const emit::BlockPanels panels = describePanels(op.getPanels());
  SmallVector<Value> column = kernel.delinearize(n, {panels.numPanels(), panels.panel});
  SmallVector<Value> row =
      kernel.delinearize(k, {panels.blocks(), panels.block / panels.rowsOfWord(), panels.rowsOfWord()});
  Value base = kernel.add(kernel.mul(column[0], panels.panelBytes()), kernel.mul(row[0], panels.blockBytes()));
  auto read = [&](int64_t from, Value index, int64_t bytes, Type type) {
    Value at = kernel.add(kernel.add(base, kernel.index(from)), kernel.mul(index, bytes));
    return emitLoad(b, kernel.loc(), kernel.address(kernel.pointer(op.getRhs()), b.getI8Type(), at), type, /*lanes=*/1);
  };
  Value word = read(panels.wordsAt(), kernel.add(kernel.mul(row[1], panels.panel), column[1]), 4, b.getI32Type());
  Value field = emitField(kernel, word, kernel.mul(row[2], panels.bits), panels.bits);
  Value zero;
  switch (panels.zeros) {
  case emit::BlockZeros::None:
    zero = kernel.constant(b.getF32Type(), static_cast<double>(int64_t(1) << (panels.bits - 1)));
    break;
  case emit::BlockZeros::Bytes:
    zero = emitField(kernel, read(panels.zerosAt(), column[1], 1, b.getI8Type()), kernel.index(0), 8);
    break;
  case emit::BlockZeros::Floats:
    zero = read(panels.zerosAt(), column[1], 4, b.getF32Type());
    break;
  }
  return emitDequantized(kernel, field, zero, read(0, column[1], panels.scaleBytes, op.getPanels().getScale()));
}

static Value emitLhs(BlockMatmulOp op, KernelEmitter &kernel, ValueRange at) { return kernel.element(op.getLhs(), at); }

/// Of rounded rows, an element less its rounding error.
static Value emitLhs(PackedBlockMatmulOp op, KernelEmitter &kernel, ValueRange at) {
  if (!isa<IntegerType>(elementOf(op.getLhs())))
    return kernel.element(op.getLhs(), at);
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const emit::RoundedRows rows = describePanels(op.getPanels()).roundedRows();
  const int64_t perWord = 32 / rows.bits, perByte = 8 / rows.bits;
  SmallVector<Value> from(at.drop_back());
  from.push_back(kernel.index(0));
  Value row =
      kernel.address(kernel.pointer(op.getLhs()), b.getI8Type(), kernel.linearize(from, extentsOf(op.getLhs())));
  SmallVector<Value> digits = kernel.delinearize(at.back(), {rows.blocks(), rows.block / perWord, int64_t(4), perByte});
  Value block = kernel.address(row, b.getI8Type(), kernel.mul(digits[0], rows.blockBytes()));
  // RoundedRows::placeOf, behind the words before.
  Value place = kernel.add(kernel.add(kernel.mul(digits[1], perWord), kernel.mul(digits[3], 4)), digits[2]);
  Value byte = emitLoad(b, loc, kernel.address(block, b.getI8Type(), kernel.add(place, kernel.index(rows.kBytesAt))),
                        b.getI8Type(), /*lanes=*/1);
  Value scale = emitLoad(b, loc, block, b.getF32Type(), /*lanes=*/1);
  Value wide = arith::ExtSIOp::create(b, loc, b.getI32Type(), byte);
  return arith::MulFOp::create(b, loc, arith::SIToFPOp::create(b, loc, b.getF32Type(), wide), scale);
}

static int64_t depthOf(BlockMatmulOp op) { return shapeOf(op.getLhs()).back(); }
static int64_t depthOf(PackedBlockMatmulOp op) { return op.getPanels().getDepth(); }

/// One sum a result element: for any target and layout.
template <typename OpTy>
static void emitPlain(OpTy op, KernelEmitter &kernel) {
  const Extents out = extentsOf(op.getResult());
  const int64_t depth = depthOf(op);
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
      Value zero = emitConstant(b, loc, b.getF32Type(), 0);
      Value sum = kernel.reduce(kernel.index(0), kernel.index(depth), 1, zero, [&](Value k, ValueRange sums) {
        SmallVector<Value> from(at.drop_back());
        from.push_back(k);
        Value term = arith::MulFOp::create(b, loc, emitLhs(op, kernel, from), emitWeight(op, kernel, k, at.back()));
        return SmallVector<Value>{arith::AddFOp::create(b, loc, sums[0], term)};
      })[0];
      kernel.store(sum, at);
    });
  });
}

/// As tiles of a grid: all rows are one matrix.
template <typename OpTy>
static void emitGrid(OpTy op, KernelEmitter &kernel) {
  Extents rows = extentsOf(op.getResult());
  GridProduct tiles;
  tiles.n = rows.pop_back_val();
  tiles.m = productOf(rows);
  tiles.k = extentsOf(op.getLhs()).back();
  tiles.type = kernel.builder().getF32Type();
  tiles.lhs.tensor = op.getLhs();
  tiles.lhs.alongK = tiles.rhs.alongK = true;
  tiles.lhs.run = longestRun(elementOf(op.getLhs()), tiles.k);
  auto locateLhs = [&](Value, Value m, Value k) {
    SmallVector<Value> at = kernel.delinearize(m, rows);
    at.push_back(k);
    return ProductOperand::Place{at, Value()};
  };
  auto readRhs = [&](Value, Value n, Value k) { return emitWeight(op, kernel, k, n); };
  auto sink = [&](Value, Value m, Value n, Value sum) {
    SmallVector<Value> at = kernel.delinearize(m, rows);
    at.push_back(n);
    kernel.store(sum, at);
  };
  tiles.lhs.locate = locateLhs;
  tiles.rhs.read = readRhs;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

static void emitPanels(PackedBlockMatmulOp op, KernelEmitter &kernel) {
  Extents rows = extentsOf(op.getResult());
  rows.pop_back();
  const Extent count = productOf(rows);
  emit::BlockSpec spec;
  spec.panels = describePanels(op.getPanels());
  spec.rows = count.most();
  spec.isRounded = isa<IntegerType>(elementOf(op.getLhs()));
  spec.sinkStyle = kernel.sinkStyle();
  const Extent items = count.ceilDiv(emit::blockRowBlock(spec, kernel.target())) * spec.panels.numPanels();
  const Rate rate = spec.rows <= emit::fewBlockRows(kernel.target()) ? Rate::Vectors
                    : spec.isRounded                                 ? Rate::ByteProducts
                                                                     : Rate::Products;
  const bool hasRowNumbers = !count.isConstant() && kernel.canStoreRows();
  kernel.parallel(items, kernel.work(rate), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    emit::BlockOperands operands;
    operands.lhs = {kernel.pointer(op.getLhs()), elementOf(op.getLhs())};
    operands.packed = kernel.pointer(op.getRhs());
    operands.scaleType = op.getPanels().getScale();
    if (!count.isConstant())
      operands.rows = arith::IndexCastOp::create(b, loc, b.getI64Type(), kernel.index(count));
    emit::emitBlockProduct(b, loc, spec, kernel.target(), operands, {begin, end},
                           [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                             kernel.inSink(inner, [&] {
                               if (hasRowNumbers)
                                 return kernel.storeRow(value, indices[0], indices[1], lanes);
                               SmallVector<Value> at = kernel.delinearize(indices[0], rows);
                               at.push_back(indices[1]);
                               kernel.storeLanes(value, at, lanes);
                             });
                           });
  });
}

static void emitBlockMatmulKernel(BlockMatmulOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  if (kernel.inGrids() && shapeOf(op.getLhs()).back() > 0)
    return emitGrid(op, kernel);
  emitPlain(op, kernel);
}

static void emitPackedBlockMatmulKernel(PackedBlockMatmulOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  const bool isRounded = isa<IntegerType>(elementOf(op.getLhs()));
  if (kernel.inGrids() && !isRounded)
    return emitGrid(op, kernel);
  // Panels and rows for other vectors are read one element at a time.
  const emit::BlockPanels panels = describePanels(op.getPanels());
  if (kernel.inGrids() || panels.panel != emit::blockPanel(panels.n, kernel.target()) ||
      (isRounded && !emit::multipliesBytes(panels, kernel.target())))
    return emitPlain(op, kernel);
  emitPanels(op, kernel);
}

/// One element after the other, each with its block's largest value: for any target.
static void emitRoundBlocksKernel(RoundBlocksOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  const Extents out = extentsOf(op.getResult());
  const auto block = static_cast<int64_t>(op.getBlock());
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
      SmallVector<Value> from(at);
      auto read = [&](Value k) {
        from.back() = k;
        return kernel.element(op.getInput(), from);
      };
      Value number = arith::DivUIOp::create(b, loc, at.back(), kernel.index(block));
      Value first = kernel.mul(number, block);
      Value last = arith::MinUIOp::create(b, loc, kernel.add(first, kernel.index(block)), kernel.index(out.back()));
      // As emitRoundedRows finds it.
      Value none = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value most = kernel.reduce(first, last, 1, none, [&](Value k, ValueRange found) {
        Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), math::AbsFOp::create(b, loc, read(k)));
        return SmallVector<Value>{arith::MaxUIOp::create(b, loc, found[0], bits)};
      })[0];
      const emit::BlockRounding rounding = emit::emitBlockRounding(b, loc, most);
      Value byte = emit::emitRounded(b, loc, read(at.back()), rounding);
      Value value = arith::SIToFPOp::create(b, loc, b.getF32Type(), byte);
      kernel.store(arith::MulFOp::create(b, loc, value, rounding.scale), at);
    });
  });
}

static void emitQuantizeBlocksKernel(QuantizeBlocksOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  Extents rows = extentsOf(op.getInput());
  const int64_t depth = rows.pop_back_val().most();
  const emit::RoundedRows format{static_cast<int64_t>(op.getBits()), static_cast<int64_t>(op.getBlock()), depth};
  kernel.parallel(productOf(rows), kernel.work(Rate::Vectors), [&](Value begin, Value end) {
    emit::emitRoundedRows(kernel.builder(), kernel.loc(), format,
                          {kernel.pointer(op.getInput()), elementOf(op.getInput())}, kernel.resultPointer(0),
                          {begin, end});
  });
}

void sluice::dataflow::attachBlocksKernels(MLIRContext *context) {
  attach<KernelModel<emitBlockMatmulKernel, KernelExtents::OfStep>,
         KernelModel<emitPackedBlockMatmulKernel, KernelExtents::OfStep>,
         KernelModel<emitRoundBlocksKernel, KernelExtents::OfStep>,
         KernelModel<emitQuantizeBlocksKernel, KernelExtents::OfStep>>(context);
}
