//===- IntegerMatmul.cpp - Kernels of matrix products of bytes ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/IntegerBytes.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {
/// MatmulShape with the extents of a step.
struct ProductSizes {
  explicit ProductSizes(IntegerMatmulOp op) : batch(extentsOf(op.getResult())), k(extentsOf(op.getLhs()).back()) {
    n = batch.pop_back_val();
    m = batch.pop_back_val();
  }
  Extents batch;
  Extent m = 1, n = 1, k = 1;
};

/// The product that a CPU's kernel computes, and where its operands lie.
struct Plan {
  explicit Plan(IntegerMatmulOp op) : shape(op), buffers(buffersOf(op)) {}
  ProductSizes shape;
  IntegerMatmulBuffers buffers;
  emit::IntegerSpec spec;
  IntegerSizes sizes;
  Extent batches = 1;
  bool isFlat = false; ///< All batches' rows are one product's.
};
} // namespace

static Extents batchOf(Value operand) {
  Extents extents = extentsOf(operand);
  extents.truncate(extents.size() - 2);
  return extents;
}

static Plan planOf(IntegerMatmulOp op) {
  Plan plan(op);
  const ProductSizes &shape = plan.shape;
  plan.spec.panels = describePanels(op);
  plan.batches = productOf(shape.batch);
  plan.sizes.rows = shape.m;
  plan.sizes.columns = shape.n;
  plan.sizes.length = shape.k;
  // Where all of a batch share one right-hand side, it is one taller matrix.
  if (plan.buffers.rhsBatches == 1 && isSameExtent(productOf(batchOf(op.getLhs())), plan.batches)) {
    plan.isFlat = !plan.batches.is(1);
    plan.sizes.rows = plan.batches * shape.m;
    plan.batches = 1;
  }
  plan.sizes.describe(plan.spec);
  plan.spec.rowStride = plan.buffers.lhsRow;
  return plan;
}

/// The number of a batch's matrix of an operand whose batch dimensions broadcast.
static SmallVector<Value> broadcastBatch(KernelEmitter &kernel, ValueRange batch, ArrayRef<Extent> own) {
  SmallVector<Value> at;
  for (size_t i = 0; i < own.size(); ++i)
    at.push_back(own[i].is(1) ? kernel.index(0) : batch[batch.size() - own.size() + i]);
  return at;
}
static Value matrixOf(KernelEmitter &kernel, ValueRange batch, ArrayRef<Extent> own) {
  return kernel.linearize(broadcastBatch(kernel, batch, own), own);
}

namespace {
/// Elements of the operands less their zero points, as i32.
struct Elements {
  IntegerMatmulOp op;
  KernelEmitter &kernel;

  /// za of a row of a batch.
  Value lhsZero(ValueRange batch, Value m) {
    Value zero = op.getLhsZeroPoint();
    SmallVector<Value> at(batch);
    at.append({m, kernel.index(0)});
    return kernel.broadcastElements(zero, at, 1);
  }
  Value lhs(ValueRange batch, Value m, Value k) {
    SmallVector<Value> at = broadcastBatch(kernel, batch, batchOf(op.getLhs()));
    at.append({m, k});
    return lessLhsZero(kernel.element(op.getLhs(), at), batch, m);
  }
  Value lessLhsZero(Value byte, ValueRange batch, Value m) {
    Value wide = emitWideByte(kernel, byte, typeOf(op.getLhs()).getElementType());
    return op.getLhsZeroPoint() ? less(wide, lhsZero(batch, m)) : wide;
  }
  Value rhsZero(Value n) {
    Value zero = op.getRhsZeroPoint();
    const bool perColumn = elementCount(zero.getType()) != 1;
    SmallVector<Value> at(typeOf(zero).getRank(), kernel.index(0));
    if (perColumn)
      at.back() = n;
    return kernel.element(zero, at);
  }
  Value rhs(ValueRange batch, Value k, Value n) {
    if (op.isPacked())
      return emitPackedElement(kernel, op.getRhs(), describePanels(*op.getPanels()), kernel.index(0), k, n);
    SmallVector<Value> at = broadcastBatch(kernel, batch, batchOf(op.getRhs()));
    at.append({k, n});
    return lessRhsZero(kernel.element(op.getRhs(), at), n);
  }
  Value lessRhsZero(Value byte, Value n) {
    Value wide = emitWideByte(kernel, byte, typeOf(op.getRhs()).getElementType());
    return op.getRhsZeroPoint() ? less(wide, rhsZero(n)) : wide;
  }
  Value less(Value a, Value c) { return arith::SubIOp::create(kernel.builder(), kernel.loc(), a, c); }
};
} // namespace

/// One sum a result element: for any target and layout.
static void emitPlain(IntegerMatmulOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  const Extents out = extentsOf(op.getResult());
  const Extent depth = ProductSizes(op).k;
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
      ValueRange batch = ValueRange(at).drop_back(2);
      Value m = at[at.size() - 2], n = at.back(), zero = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value sum = kernel.reduce(kernel.index(0), kernel.index(depth), 1, zero, [&](Value k, ValueRange sums) {
        Value term = arith::MulIOp::create(b, loc, elements.lhs(batch, m, k), elements.rhs(batch, k, n));
        return SmallVector<Value>{arith::AddIOp::create(b, loc, sums[0], term)};
      })[0];
      kernel.store(sum, at);
    });
  });
}

static void emitStageLhs(IntegerMatmulOp op, KernelEmitter &kernel, const Plan &plan) {
  Extents rows = extentsOf(op.getLhs());
  rows.pop_back();
  const Extent count = productOf(rows), &k = plan.shape.k;
  const emit::IntegerDot dot = plan.spec.panels.dot;
  const Count staged = product({emit::lhsBytes(dot) + 1, count.most(), plan.buffers.lhsRow});
  const Extent padded = k.isConstant() ? Extent(plan.buffers.lhsRow) : k.ceilDiv(emit::stepOf(dot)) * emit::stepOf(dot);
  kernel.parallel(count, kernel.workBeside(op, staged), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value row) {
      SmallVector<Value> from = kernel.delinearize(row, rows);
      from.push_back(kernel.index(0));
      Value to = kernel.address(kernel.workspace(), kernel.builder().getI8Type(),
                                kernel.mul(row, plan.buffers.lhsRow * emit::lhsBytes(dot)));
      emitStageBytes(kernel, {op.getLhs(), from, from.size() - 1}, k, padded, dot, to);
    });
  });
}

/// The bytes of rows of a step side by side, for columns of which `width` are a panel.
static Value emitInterleaved(KernelEmitter &kernel, Value left, Value right, int64_t width) {
  const int64_t group = cast<VectorType>(left.getType()).getNumElements() / width;
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < width; ++lane)
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t i = 0; i < group; ++i)
        order.push_back((side * width + lane) * group + i);
  return vector::ShuffleOp::create(kernel.builder(), kernel.loc(), left, right, order);
}

/// One panel of a right-hand side that is no constant, with its sums.
static void emitPackPanel(IntegerMatmulOp op, KernelEmitter &kernel, const Plan &plan, Value matrix, Value panel,
                          Value to) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const emit::IntegerPanels &panels = plan.spec.panels;
  const int64_t depth = emit::depthOf(panels.dot), width = panels.panel, stepBytes = width * depth;
  Type byte = b.getI8Type(), element = typeOf(op.getRhs()).getElementType();
  const bool isUnsigned = element.isUnsignedInteger();
  const Extent &n = plan.shape.n, &depthK = plan.shape.k;
  const Extent steps = depthK.ceilDiv(emit::stepOf(panels.dot)) * (emit::stepOf(panels.dot) / depth);
  Elements elements{op, kernel};
  Value first = kernel.mul(panel, width);
  auto at = [&](Value offset) { return kernel.address(to, byte, offset); };
  auto flip = [&](Value value) { return isUnsigned ? emitFlippedByte(kernel, value) : value; };
  // zb as the flipped bytes have it.
  auto zeroOf = [&](Value column) -> Value {
    Value shift = emitIntConstant(b, loc, b.getI32Type(), isUnsigned ? 128 : 0);
    Value zero = op.getRhsZeroPoint() ? elements.rhsZero(column) : emitIntConstant(b, loc, b.getI32Type(), 0);
    return arith::SubIOp::create(b, loc, zero, shift);
  };
  auto finish = [&](Value lane, Value sum) {
    Value zero = zeroOf(kernel.add(first, lane));
    Value terms = depthK.isConstant() ? emitIntConstant(b, loc, b.getI32Type(), depthK.most())
                                      : kernel.number(b.getI32Type(), depthK);
    sum = arith::SubIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, zero, terms));
    Value offset = kernel.add(kernel.index(panels.weightBytes()), kernel.mul(lane, 4));
    emitUnalignedStore(kernel, sum, at(offset));
    if (panels.hasZeroPoints)
      emitUnalignedStore(kernel, zero, at(kernel.add(offset, kernel.index(4 * width))));
  };
  Type row = VectorType::get(width, byte);
  auto read = [&](Value k) {
    Value from = kernel.add(kernel.mul(kernel.add(kernel.mul(matrix, depthK), k), n), first);
    return LLVM::LoadOp::create(b, loc, row, kernel.address(kernel.pointer(op.getRhs()), byte, from), 1).getResult();
  };
  auto emitStep = [&](Value step, int64_t rows) {
    SmallVector<Value> parts;
    for (int64_t j = 0; j < depth; ++j)
      parts.push_back(j < rows ? flip(read(kernel.add(kernel.mul(step, depth), kernel.index(j))))
                               : emitIntConstant(b, loc, row, 0));
    for (; parts.size() > 1; parts.truncate(parts.size() / 2))
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = emitInterleaved(kernel, parts[2 * i], parts[2 * i + 1], width);
    emitUnalignedStore(kernel, parts[0], at(kernel.mul(step, stepBytes)));
  };
  auto emitSums = [&](Value lanes) {
    kernel.loop(kernel.index(0), lanes, 1, [&](Value lane) {
      Value zero = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value sum = kernel.reduce(kernel.index(0), kernel.index(steps * depth), 1, zero, [&](Value k, ValueRange sums) {
        SmallVector<Value> digits = kernel.delinearize(k, {panels.steps(), depth});
        Value from = kernel.add(kernel.mul(kernel.add(kernel.mul(digits[0], width), lane), depth), digits[1]);
        Value value = LLVM::LoadOp::create(b, loc, byte, at(from), 1);
        value = arith::ExtSIOp::create(b, loc, b.getI32Type(), value);
        return SmallVector<Value>{arith::AddIOp::create(b, loc, sums[0], value)};
      })[0];
      finish(lane, sum);
    });
  };
  auto emitWhole = [&] {
    const Extent whole = depthK / depth, rest = depthK % depth;
    kernel.loop(0, whole, 1, [&](Value step) { emitStep(step, depth); });
    if (rest.isConstant() && !rest.is(0))
      emitStep(kernel.index(whole), rest.most());
    for (int64_t rows = 1; rows < depth && !rest.isConstant(); ++rows)
      kernel.ifThen(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, kernel.index(rest), kernel.index(rows)),
                    [&] { emitStep(kernel.index(whole), rows); });
    kernel.loop(depthK.ceilDiv(depth), steps, 1, [&](Value step) { emitStep(step, 0); });
    emitSums(kernel.index(width));
  };
  auto emitPart = [&](const Extent &columns) {
    auto clear = [&](const Extent &from, const Extent &to) {
      kernel.loop(from, to, 1, [&](Value i) { emitUnalignedStore(kernel, emitIntConstant(b, loc, byte, 0), at(i)); });
    };
    if (steps.isConstant()) {
      clear(0, panels.panelBytes());
    } else {
      clear(0, steps * stepBytes);
      clear(panels.weightBytes(), panels.panelBytes());
    }
    kernel.loop(0, depthK, 1, [&](Value k) {
      SmallVector<Value> digits = kernel.delinearize(k, {panels.steps(), depth});
      kernel.loop(0, columns, 1, [&](Value lane) {
        Value from = kernel.add(kernel.mul(kernel.add(kernel.mul(matrix, depthK), k), n), kernel.add(first, lane));
        Value value = flip(kernel.load(kernel.pointer(op.getRhs()), element, from));
        Value offset = kernel.add(kernel.mul(kernel.add(kernel.mul(digits[0], width), lane), depth), digits[1]);
        emitUnalignedStore(kernel, value, at(offset));
      });
    });
    emitSums(kernel.index(columns));
  };
  const Extent rest = n % width;
  if (n.most() >= width)
    kernel.ifThen(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, panel, kernel.index(n / width)), emitWhole);
  if (!rest.is(0))
    kernel.ifThen(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, panel, kernel.index(n / width)),
                  [&] { emitPart(rest); });
}

static void emitPackRhs(IntegerMatmulOp op, KernelEmitter &kernel, const Plan &plan) {
  const emit::IntegerPanels &panels = plan.spec.panels;
  const Extent numPanels = plan.shape.n.ceilDiv(panels.panel), batches = productOf(batchOf(op.getRhs()));
  const Extent extent = batches * numPanels;
  kernel.parallel(extent, {Rate::Vectors, Count(extent.most()) * panels.panelBytes(), 0}, [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, {batches, numPanels});
      // A matrix has the room of the greatest extents.
      Value place = numPanels.isConstant() ? item : kernel.add(kernel.mul(at[0], panels.numPanels()), at[1]);
      Value offset = kernel.add(kernel.index(plan.buffers.packedAt), kernel.mul(place, panels.panelBytes()));
      emitPackPanel(op, kernel, plan, at[0], at[1],
                    kernel.address(kernel.workspace(), kernel.builder().getI8Type(), offset));
    });
  });
}

static void emitProduct(IntegerMatmulOp op, KernelEmitter &kernel, Plan &plan) {
  Elements elements{op, kernel};
  const ProductSizes &shape = plan.shape;
  plan.spec.sinkStyle = kernel.sinkStyle();
  const bool isFlat = plan.isFlat;
  const Extent perBatch = plan.sizes.items(plan.spec, kernel.target());
  const emit::IntegerDot dot = plan.spec.panels.dot;
  Extents rows(shape.batch);
  rows.push_back(shape.m);
  const bool hasRowNumbers = isFlat && !productOf(rows).isConstant() && kernel.canStoreRows();
  kernel.parallel(plan.batches * perBatch, kernel.work(rateOf(dot)), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Type byte = b.getI8Type();
    const emit::IntegerExtents extents = plan.sizes.emitValues(kernel);
    auto emitOne = [&](ValueRange batch, Value lo, Value hi) {
      // Row and batch of a row of the product, which holds all batches where it is flat.
      auto rowOf = [&](Value row) {
        SmallVector<Value> at(batch);
        if (isFlat)
          at = kernel.delinearize(row, rows);
        else
          at.push_back(row);
        return at;
      };
      emit::IntegerOperands operands;
      operands.extents = extents;
      Value lhsMatrix = isFlat ? kernel.index(0) : matrixOf(kernel, batch, batchOf(op.getLhs()));
      operands.lhs = kernel.address(plan.buffers.stagesLhs ? kernel.workspace() : kernel.pointer(op.getLhs()), byte,
                                    kernel.mul(lhsMatrix, shape.m * (plan.buffers.lhsRow * emit::lhsBytes(dot))));
      operands.hasRoomForTiles = plan.buffers.stagesLhs;
      operands.rhs = op.isPacked() ? kernel.pointer(op.getRhs())
                                   : kernel.address(kernel.workspace(), byte, kernel.index(plan.buffers.packedAt));
      if (plan.buffers.rhsBatches > 1) {
        Value matrix = matrixOf(kernel, batch, batchOf(op.getRhs()));
        operands.rhs = kernel.address(operands.rhs, byte, kernel.mul(matrix, plan.spec.panels.bytes()));
      }
      // Signed bytes have become unsigned ones, which moves their zero point.
      const int64_t shift = typeOf(op.getLhs()).getElementType().isUnsignedInteger() ? 0 : 128;
      Value zeros = op.getLhsZeroPoint();
      operands.isZeroPerRow = zeros && elementCount(zeros.getType()) != 1;
      if (zeros || shift)
        operands.lhsZero = [&, shift, zeros](OpBuilder &, Location, Value, Value row) -> Value {
          Value zero = emitIntConstant(b, loc, b.getI32Type(), shift);
          if (!zeros)
            return zero;
          SmallVector<Value> at(shape.batch.size() + 1, kernel.index(0));
          if (row)
            at = rowOf(arith::IndexCastOp::create(b, loc, b.getIndexType(), row));
          Value own = elements.lhsZero(ValueRange(at).drop_back(), at.back());
          return arith::AddIOp::create(b, loc, own, zero);
        };
      emit::emitIntegerProduct(b, loc, plan.spec, kernel.target(), operands, {lo, hi},
                               [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                                 kernel.inSink(inner, [&] {
                                   if (hasRowNumbers)
                                     return kernel.storeRow(value, indices[1], indices[2], lanes);
                                   SmallVector<Value> at = rowOf(indices[1]);
                                   at.push_back(indices[2]);
                                   kernel.storeLanes(value, at, lanes);
                                 });
                               });
    };
    if (plan.batches.is(1))
      return emitOne(SmallVector<Value>(shape.batch.size(), kernel.index(0)), begin, end);
    kernel.loopParts(begin, end, perBatch,
                     [&](Value batch, Value lo, Value hi) { emitOne(kernel.delinearize(batch, shape.batch), lo, hi); });
  });
}

/// As tiles of a grid, whose elements are less their zero points already.
static void emitGrid(IntegerMatmulOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  const ProductSizes shape(op);
  GridProduct tiles;
  tiles.batches = productOf(shape.batch);
  tiles.m = shape.m;
  tiles.n = shape.n;
  tiles.k = shape.k;
  tiles.type = kernel.builder().getI32Type();
  tiles.lhs.alongK = true;
  auto digits = [&](Value batch) { return kernel.delinearize(batch, shape.batch); };
  auto readLhs = [&](Value batch, Value m, Value k) { return elements.lhs(digits(batch), m, k); };
  auto readRhs = [&](Value batch, Value n, Value k) { return elements.rhs(digits(batch), k, n); };
  auto sink = [&](Value batch, Value m, Value n, Value sum) {
    SmallVector<Value> at = digits(batch);
    at.append({m, n});
    kernel.store(sum, at);
  };
  tiles.lhs.read = readLhs;
  tiles.rhs.read = readRhs;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

static void emitIntegerMatmulKernel(IntegerMatmulOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  if (kernel.inGrids() && shapeOf(op.getLhs()).back() > 0)
    return emitGrid(op, kernel);
  if (!op.getPanels() || !canRunPanels(kernel, describePanels(*op.getPanels())))
    return emitPlain(op, kernel);
  Plan plan = planOf(op);
  if (plan.buffers.stagesLhs)
    emitStageLhs(op, kernel, plan);
  if (plan.buffers.packsRhs)
    emitPackRhs(op, kernel, plan);
  emitProduct(op, kernel, plan);
}

void sluice::dataflow::attachIntegerMatmulKernels(MLIRContext *context) {
  attach<KernelModel<emitIntegerMatmulKernel, KernelExtents::OfStep>>(context);
}
