//===- Matmul.cpp - Kernels of matmul -------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Emit/TunableKernel.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// Index of one batch entry of an operand whose batch dimensions broadcast.
static Value batchOffset(KernelEmitter &kernel, ValueRange batchIndices, ArrayRef<Extent> batch, const Extent &matrix) {
  Value offset = kernel.index(0);
  Extent stride = matrix;
  for (size_t i = batch.size(); i-- > 0;) {
    size_t at = batchIndices.size() - batch.size() + i;
    if (!batch[i].is(1))
      offset = kernel.add(offset, kernel.mul(batchIndices[at], stride));
    stride = stride * batch[i];
  }
  return offset;
}

/// One sum a result element: integers, which the register-tiled emitter has no
/// form for.
static void emitPlainMatmul(MatmulOp op, KernelEmitter &kernel) {
  Type element = op.getType().getElementType();
  const Extents result = extentsOf(op.getResult());
  const Extent depth = MatmulSizes(op).k;
  kernel.parallel(productOf(result), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    kernel.loopItems(begin, end, result, [&](ArrayRef<Value> at) {
      ValueRange batch = ValueRange(at).drop_back(2);
      Value zero = emitConstant(kernel.builder(), kernel.loc(), computeType(element), 0);
      Value sum = kernel.reduce(kernel.index(0), kernel.index(depth), 1, zero, [&](Value k, ValueRange acc) {
        auto read = [&](Value tensor, Value row, Value column) {
          const Extents own = extentsOf(tensor);
          SmallVector<Value> indices;
          for (size_t i = 0; i + 2 < own.size(); ++i)
            indices.push_back(own[i].is(1) ? kernel.index(0) : batch[batch.size() + 2 - own.size() + i]);
          indices.append({row, column});
          return kernel.element(tensor, indices);
        };
        Value m = at[at.size() - 2], n = at.back();
        Value x = op.getTransposeLhs() ? read(op.getLhs(), k, m) : read(op.getLhs(), m, k);
        Value y = op.getTransposeRhs() ? read(op.getRhs(), n, k) : read(op.getRhs(), k, n);
        OpBuilder &b = kernel.builder();
        Value term = emitBinary(b, kernel.loc(), BinaryKind::mul, x, y, false);
        return SmallVector<Value>{emitBinary(b, kernel.loc(), BinaryKind::add, acc[0], term, false)};
      })[0];
      kernel.store(sum, at);
    });
  });
}

emit::MatmulSpec sluice::dataflow::describeMatmul(MatmulOp op) {
  MatmulShape shape = shapeOfMatmul(op);
  emit::MatmulSpec spec;
  spec.m = isFlatMatmul(op) ? (shape.m * product(shape.batch)).value() : shape.m;
  spec.n = shape.n;
  spec.k = shape.k;
  spec.lda = shapeOf(op.getLhs()).back();
  spec.ldb = shapeOf(slicedTensor(op.getRhs())).back();
  spec.transposeA = op.getTransposeLhs();
  spec.transposeB = op.getTransposeRhs();
  spec.packedB = op.getPackedN().has_value();
  spec.elementBits = op.getType().getElementType().isF64() ? 64 : 32;
  spec.tuning = tuningOf(op);
  return spec;
}

/// As tiles of a grid, any type and layout.
static void emitGridMatmul(MatmulOp op, KernelEmitter &kernel) {
  const MatmulSizes sizes(op);
  const bool isFlat = sizes.isFlat, isPacked = op.getPackedN().has_value();
  GridProduct tiles;
  tiles.batches = isFlat ? Extent(1) : productOf(sizes.batch);
  tiles.m = sizes.m;
  tiles.n = sizes.n;
  tiles.k = sizes.k;
  tiles.type = computeType(op.getType().getElementType());
  Type element = op.getType().getElementType();
  tiles.lhs.tensor = op.getLhs();
  tiles.rhs.tensor = op.getRhs();
  tiles.lhs.alongK = !op.getTransposeLhs();
  tiles.rhs.alongK = op.getTransposeRhs();
  tiles.lhs.run = longestRun(element, sizes.lda);
  tiles.rhs.run = longestRun(element, sizes.ldb);
  // Indices of a matrix of an operand, whose batch dimensions broadcast.
  auto indices = [&](ArrayRef<Extent> own, Value batch) {
    SmallVector<Value> all = kernel.delinearize(batch, sizes.batch), at;
    for (size_t i = 0; i < own.size(); ++i)
      at.push_back(own[i].is(1) ? kernel.index(0) : all[all.size() - own.size() + i]);
    return at;
  };
  auto locateLhs = [&](Value batch, Value m, Value k) {
    SmallVector<Value> at;
    if (isFlat) {
      at = kernel.delinearize(m, sizes.rows);
      at.push_back(k);
    } else {
      at = indices(sizes.lhsBatch, batch);
      at.append(op.getTransposeLhs() ? std::initializer_list<Value>{k, m} : std::initializer_list<Value>{m, k});
    }
    return ProductOperand::Place{at, Value()};
  };
  auto locateRhs = [&](Value batch, Value n, Value k) {
    SmallVector<Value> at = indices(sizes.rhsBatch, isFlat ? kernel.index(0) : batch);
    if (isPacked) {
      SmallVector<Value> panel = kernel.delinearize(n, {tiles.n, sizes.ldb});
      at.append({panel[0], k, panel[1]});
    } else {
      at.append(op.getTransposeRhs() ? std::initializer_list<Value>{n, k} : std::initializer_list<Value>{k, n});
    }
    return ProductOperand::Place{at, Value()};
  };
  auto sink = [&](Value batch, Value m, Value n, Value sum) {
    SmallVector<Value> at;
    if (isFlat) {
      at = kernel.delinearize(m, sizes.rows);
    } else {
      at = kernel.delinearize(batch, sizes.batch);
      at.push_back(m);
    }
    at.push_back(n);
    kernel.store(sum, at);
  };
  tiles.lhs.locate = locateLhs;
  tiles.rhs.locate = locateRhs;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

static void emitMatmulKernel(MatmulOp op, KernelEmitter &kernel) {
  const int64_t depth = shapeOfMatmul(op).k;
  Type element = op.getType().getElementType();
  if (elementCount(op.getType()) == 0)
    return;
  if (kernel.inGrids() && depth > 0) {
    emitGridMatmul(op, kernel);
    return;
  }
  if (!isa<FloatType>(element) || depth == 0) {
    emitPlainMatmul(op, kernel);
    return;
  }
  emit::MatmulSpec spec = describeMatmul(op);
  spec.sinkStyle = kernel.sinkStyle();
  const MatmulSizes sizes(op);
  const bool isFlat = sizes.isFlat;
  spec.m = sizes.m.most();
  const Extent batches = isFlat ? Extent(1) : productOf(sizes.batch);
  const emit::MatmulBlocking blocking = emit::chooseBlocking(spec, kernel.target());
  const Extent perBatch = sizes.m.ceilDiv(blocking.rowBlock) * sizes.n.ceilDiv(blocking.tile.block());
  kernel.parallel(batches * perBatch, kernel.work(Rate::Products), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    auto ofStep = [&](const Extent &extent) -> Value {
      if (extent.isConstant())
        return {};
      return arith::IndexCastOp::create(b, loc, b.getI64Type(), kernel.index(extent));
    };
    const emit::MatmulExtents extents = {ofStep(sizes.m), ofStep(sizes.n), ofStep(sizes.k), ofStep(sizes.lda),
                                         ofStep(sizes.ldb)};
    auto emitOne = [&](ValueRange batchIndices, Value lo, Value hi) {
      Value a = kernel.address(
          kernel.pointer(op.getLhs()), element,
          batchOffset(kernel, batchIndices, isFlat ? ArrayRef<Extent>() : sizes.lhsBatch, sizes.lhsMatrix));
      Value c = kernel.address(
          kernel.pointer(slicedTensor(op.getRhs())), element,
          batchOffset(kernel, batchIndices, isFlat ? ArrayRef<Extent>() : sizes.rhsBatch, sizes.rhsMatrix));
      emit::emitMatmul(b, loc, spec, kernel.target(), {{a, element}, {c, element}, extents}, {lo, hi},
                       [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                         kernel.inSink(inner, [&] {
                           SmallVector<Value> at(batchIndices);
                           if (isFlat) {
                             at = kernel.delinearize(indices[0], sizes.rows);
                             at.push_back(indices[1]);
                           } else {
                             at.append(indices.begin(), indices.end());
                           }
                           kernel.storeLanes(value, at, lanes);
                         });
                       });
    };
    if (batches.is(1)) {
      SmallVector<Value> zeros(isFlat ? 0 : sizes.batch.size(), kernel.index(0));
      emitOne(zeros, begin, end);
      return;
    }
    kernel.loopParts(begin, end, perBatch,
                     [&](Value batch, Value lo, Value hi) { emitOne(kernel.delinearize(batch, sizes.batch), lo, hi); });
  });
}

static LogicalResult checkMatmulKernel(MatmulOp op, const emit::VectorTarget &target, const KernelStyle &style) {
  if (style.form == KernelForm::Grids || !op.getPackedN() || elementCount(op.getType()) == 0)
    return success();
  const MatmulSizes sizes(op);
  if (!sizes.k.isConstant() || !sizes.n.isConstant())
    return op->emitOpError("has a kernel for which the sizes of the packed weight must be known at compile time, give "
                           "each of its dimensions one size");
  return checkPackedWeight(op, op.getRhs(), emit::matmulPanel(describeMatmul(op), target));
}

void sluice::dataflow::describeTuningSpace(const emit::MatmulSpec &spec, const emit::VectorTarget &target,
                                           TunableKernel &kernel) {
  const emit::MatmulBlocking blocking = emit::chooseBlocking(spec, target);
  kernel.rows = spec.m;
  kernel.columns = spec.n;
  kernel.depth = spec.k;
  kernel.hasDepthBlock = true;
  kernel.chosen.rows = blocking.tile.rows;
  kernel.chosen.vectors = blocking.tile.vectors;
  kernel.chosen.rowBlock = blocking.rowBlock;
  kernel.chosen.depthBlock = blocking.depthBlock;
}

static void describeMatmulSpace(MatmulOp op, const emit::VectorTarget &target, TunableKernel &kernel) {
  emit::MatmulSpec spec = describeMatmul(op);
  spec.tuning = {};
  spec.packedB = isConstantExpression(op.getRhs());
  describeTuningSpace(spec, target, kernel);
}

void sluice::dataflow::attachMatmulKernels(MLIRContext *context) {
  attach<CheckedKernelModel<emitMatmulKernel, checkMatmulKernel, KernelExtents::OfStep>,
         TuningSpaceModel<describeMatmulSpace>>(context);
}
