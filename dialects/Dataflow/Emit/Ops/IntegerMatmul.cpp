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
/// The product that a CPU's kernel computes, and where its operands lie.
struct Plan {
  MatmulShape shape;
  IntegerMatmulBuffers buffers;
  emit::IntegerSpec spec;
  int64_t batches;
};
} // namespace

static Plan planOf(IntegerMatmulOp op) {
  Plan plan;
  plan.shape = shapeOfMatmul(op);
  plan.buffers = buffersOf(op);
  const MatmulShape &shape = plan.shape;
  emit::IntegerSpec &spec = plan.spec;
  spec.panels = describePanels(*op.getPanels());
  plan.batches = product(shape.batch);
  // Where all of a batch share one right-hand side, it is one taller matrix.
  if (plan.buffers.rhsBatches == 1 && plan.buffers.lhsBatches == plan.batches) {
    spec.rows = product({plan.batches, shape.m});
    plan.batches = 1;
  } else {
    spec.rows = shape.m;
  }
  spec.rowStride = plan.buffers.lhsRow;
  return plan;
}

/// The number of a batch's matrix of an operand whose batch dimensions broadcast.
static Value matrixOf(KernelEmitter &kernel, ValueRange batch, ArrayRef<int64_t> own) {
  SmallVector<Value> at;
  for (size_t i = 0; i < own.size(); ++i)
    at.push_back(own[i] == 1 ? kernel.index(0) : batch[batch.size() - own.size() + i]);
  return kernel.linearize(at, own);
}

namespace {
/// Elements of the operands less their zero points, as i32.
struct Elements {
  IntegerMatmulOp op;
  KernelEmitter &kernel;
  MatmulShape shape = shapeOfMatmul(op);

  /// za of a row of a batch.
  Value lhsZero(ValueRange batch, Value m) {
    Value zero = op.getLhsZeroPoint();
    SmallVector<Value> at(batch);
    at.append({m, kernel.index(0)});
    return kernel.broadcastElements(zero, at, 1);
  }
  Value lhs(ValueRange batch, Value m, Value k) {
    SmallVector<Value> at = indices(op.getLhs(), batch);
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
    SmallVector<Value> at = indices(op.getRhs(), batch);
    at.append({k, n});
    return lessRhsZero(kernel.element(op.getRhs(), at), n);
  }
  Value lessRhsZero(Value byte, Value n) {
    Value wide = emitWideByte(kernel, byte, typeOf(op.getRhs()).getElementType());
    return op.getRhsZeroPoint() ? less(wide, rhsZero(n)) : wide;
  }
  SmallVector<Value> indices(Value operand, ValueRange batch) {
    ArrayRef<int64_t> own = shapeOf(operand).drop_back(2);
    SmallVector<Value> at;
    for (size_t i = 0; i < own.size(); ++i)
      at.push_back(own[i] == 1 ? kernel.index(0) : batch[batch.size() - own.size() + i]);
    return at;
  }
  Value less(Value a, Value c) { return arith::SubIOp::create(kernel.builder(), kernel.loc(), a, c); }
};
} // namespace

/// One sum a result element: for any target and layout.
static void emitPlain(IntegerMatmulOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  const int64_t extent = product(out);
  kernel.parallel(extent, kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loop(begin, end, 1, [&](Value linear) {
      SmallVector<Value> at = kernel.delinearize(linear, out);
      ValueRange batch = ValueRange(at).drop_back(2);
      Value m = at[at.size() - 2], n = at.back(), zero = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value sum =
          kernel.reduce(kernel.index(0), kernel.index(elements.shape.k), 1, zero, [&](Value k, ValueRange sums) {
            Value term = arith::MulIOp::create(b, loc, elements.lhs(batch, m, k), elements.rhs(batch, k, n));
            return SmallVector<Value>{arith::AddIOp::create(b, loc, sums[0], term)};
          })[0];
      kernel.store(sum, at);
    });
  });
}

static void emitStageLhs(IntegerMatmulOp op, KernelEmitter &kernel, const Plan &plan) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs());
  const int64_t rows = product(lhs.drop_back());
  const emit::IntegerDot dot = plan.spec.panels.dot;
  const Count staged = product({emit::lhsBytes(dot) + 1, rows, plan.buffers.lhsRow});
  kernel.parallel(rows, kernel.workBeside(op, staged), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value row) {
      SmallVector<Value> from = kernel.delinearize(row, lhs.drop_back());
      from.push_back(kernel.index(0));
      Value to = kernel.address(kernel.workspace(), kernel.builder().getI8Type(),
                                kernel.mul(row, plan.buffers.lhsRow * emit::lhsBytes(dot)));
      emitStageBytes(kernel, op.getLhs(), from, plan.shape.k, plan.buffers.lhsRow, dot, to);
    });
  });
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
    Value terms = emitIntConstant(b, loc, b.getI32Type(), plan.shape.k);
    sum = arith::SubIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, zero, terms));
    Value offset = kernel.add(kernel.index(panels.weightBytes()), kernel.mul(lane, 4));
    emitUnalignedStore(kernel, sum, at(offset));
    if (panels.hasZeroPoints)
      emitUnalignedStore(kernel, zero, at(kernel.add(offset, kernel.index(4 * width))));
  };
  Type row = VectorType::get(width, byte);
  auto read = [&](Value k) {
    Value from = kernel.add(kernel.mul(kernel.add(kernel.mul(matrix, plan.shape.k), k), plan.shape.n), first);
    return LLVM::LoadOp::create(b, loc, row, kernel.address(kernel.pointer(op.getRhs()), byte, from), 1).getResult();
  };
  // Rows of a step, their bytes side by side.
  auto interleave = [&](Value left, Value right) -> Value {
    const int64_t group = cast<VectorType>(left.getType()).getNumElements() / width;
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < width; ++lane)
      for (int64_t side = 0; side < 2; ++side)
        for (int64_t i = 0; i < group; ++i)
          order.push_back((side * width + lane) * group + i);
    return vector::ShuffleOp::create(b, loc, left, right, order);
  };
  auto emitStep = [&](Value step, int64_t rows) {
    SmallVector<Value> parts;
    for (int64_t j = 0; j < depth; ++j)
      parts.push_back(j < rows ? flip(read(kernel.add(kernel.mul(step, depth), kernel.index(j))))
                               : emitIntConstant(b, loc, row, 0));
    for (; parts.size() > 1; parts.truncate(parts.size() / 2))
      for (size_t i = 0; i < parts.size() / 2; ++i)
        parts[i] = interleave(parts[2 * i], parts[2 * i + 1]);
    emitUnalignedStore(kernel, parts[0], at(kernel.mul(step, stepBytes)));
  };
  auto emitSums = [&](Value lanes) {
    kernel.loop(kernel.index(0), lanes, 1, [&](Value lane) {
      Value zero = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value sum =
          kernel.reduce(kernel.index(0), kernel.index(panels.steps() * depth), 1, zero, [&](Value k, ValueRange sums) {
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
    const int64_t whole = plan.shape.k / depth;
    kernel.loop(0, whole, 1, [&](Value step) { emitStep(step, depth); });
    const int64_t rest = plan.shape.k % depth;
    if (rest)
      emitStep(kernel.index(whole), rest);
    kernel.loop(whole + (rest ? 1 : 0), panels.steps(), 1, [&](Value step) { emitStep(step, 0); });
    emitSums(kernel.index(width));
  };
  auto emitPart = [&](int64_t columns) {
    kernel.loop(0, panels.panelBytes(), 1,
                [&](Value i) { emitUnalignedStore(kernel, emitIntConstant(b, loc, byte, 0), at(i)); });
    kernel.loop(0, plan.shape.k, 1, [&](Value k) {
      SmallVector<Value> digits = kernel.delinearize(k, {panels.steps(), depth});
      kernel.loop(0, columns, 1, [&](Value lane) {
        Value from = kernel.add(kernel.mul(kernel.add(kernel.mul(matrix, plan.shape.k), k), plan.shape.n),
                                kernel.add(first, lane));
        Value value = flip(kernel.load(kernel.pointer(op.getRhs()), element, from));
        Value offset = kernel.add(kernel.mul(kernel.add(kernel.mul(digits[0], width), lane), depth), digits[1]);
        emitUnalignedStore(kernel, value, at(offset));
      });
    });
    emitSums(kernel.index(columns));
  };
  const int64_t rest = panels.n % width;
  if (panels.n >= width)
    kernel.ifThen(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, panel, kernel.index(panels.n / width)),
                  emitWhole);
  if (rest)
    kernel.ifThen(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, panel, kernel.index(panels.n / width)),
                  [&] { emitPart(rest); });
}

static void emitPackRhs(IntegerMatmulOp op, KernelEmitter &kernel, const Plan &plan) {
  const emit::IntegerPanels &panels = plan.spec.panels;
  const int64_t extent = product({plan.buffers.rhsBatches, panels.numPanels()});
  kernel.parallel(extent, {Rate::Vectors, Count(extent) * panels.panelBytes(), 0}, [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, {plan.buffers.rhsBatches, panels.numPanels()});
      Value offset = kernel.add(kernel.index(plan.buffers.packedAt), kernel.mul(item, panels.panelBytes()));
      emitPackPanel(op, kernel, plan, at[0], at[1],
                    kernel.address(kernel.workspace(), kernel.builder().getI8Type(), offset));
    });
  });
}

static void emitProduct(IntegerMatmulOp op, KernelEmitter &kernel, Plan &plan) {
  Elements elements{op, kernel};
  const MatmulShape &shape = plan.shape;
  plan.spec.sinkStyle = kernel.sinkStyle();
  const bool isFlat = plan.spec.rows != shape.m;
  const int64_t perBatch = emit::parallelExtent(plan.spec, kernel.target()), extent = plan.batches * perBatch;
  const emit::IntegerDot dot = plan.spec.panels.dot;
  SmallVector<int64_t> rows(shape.batch);
  rows.push_back(shape.m);
  kernel.parallel(extent, kernel.work(rateOf(dot)), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Type byte = b.getI8Type();
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
      Value lhsMatrix = isFlat ? kernel.index(0) : matrixOf(kernel, batch, shapeOf(op.getLhs()).drop_back(2));
      operands.lhs = kernel.address(plan.buffers.stagesLhs ? kernel.workspace() : kernel.pointer(op.getLhs()), byte,
                                    kernel.mul(lhsMatrix, plan.buffers.lhsMatrix * emit::lhsBytes(dot)));
      operands.rhs = op.isPacked() ? kernel.pointer(op.getRhs())
                                   : kernel.address(kernel.workspace(), byte, kernel.index(plan.buffers.packedAt));
      if (plan.buffers.rhsBatches > 1) {
        Value matrix = matrixOf(kernel, batch, shapeOf(op.getRhs()).drop_back(2));
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
                                   SmallVector<Value> at = rowOf(indices[1]);
                                   at.push_back(indices[2]);
                                   kernel.storeLanes(value, at, lanes);
                                 });
                               });
    };
    if (plan.batches == 1)
      return emitOne(SmallVector<Value>(shape.batch.size(), kernel.index(0)), begin, end);
    kernel.loopParts(begin, end, perBatch,
                     [&](Value batch, Value lo, Value hi) { emitOne(kernel.delinearize(batch, shape.batch), lo, hi); });
  });
}

/// As tiles of a grid, whose elements are less their zero points already.
static void emitGrid(IntegerMatmulOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  const MatmulShape &shape = elements.shape;
  GridProduct tiles;
  tiles.batches = product(shape.batch);
  tiles.m = shape.m;
  tiles.n = shape.n;
  tiles.k = shape.k;
  tiles.type = kernel.builder().getI32Type();
  tiles.lhs.alongK = true;
  auto batchOf = [&](Value batch) { return kernel.delinearize(batch, shape.batch); };
  auto readLhs = [&](Value batch, Value m, Value k) { return elements.lhs(batchOf(batch), m, k); };
  auto readRhs = [&](Value batch, Value n, Value k) { return elements.rhs(batchOf(batch), k, n); };
  auto sink = [&](Value batch, Value m, Value n, Value sum) {
    SmallVector<Value> at = batchOf(batch);
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
  attach<KernelModel<emitIntegerMatmulKernel>>(context);
}
