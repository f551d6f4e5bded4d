//===- Attention.cpp - Kernels of attention -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work item is a block of a matrix's rows: their scores, whole rows of them,
// are in scratch of the size of a core's own cache, where softmax is taken and
// the product with the values reads them. Every sum has the order that it has
// in matmul and softmax, so results are the same bits as theirs.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Attention.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/Emit/Rows.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {

class AttentionEmitter {
public:
  AttentionEmitter(AttentionOp op, KernelEmitter &kernel)
      : op(op), kernel(kernel), rows(op.getRows()), keys(op.getKeys()), depth(op.getDepth()), columns(op.getColumns()),
        batch(shapeOf(op.getQuery()).drop_back(2)) {
    const int64_t most = std::clamp<int64_t>(kMostAttentionScores / keys, 1, kMostRows);
    blocks = (rows + most - 1) / most;
    block = (rows + blocks - 1) / blocks;
    blocks = (rows + block - 1) / block;
  }

  void emit();
  /// A thread an element, which computes its row's scores anew: for grids, and rows beyond the scratch.
  void emitElements();

private:
  /// Rows that share what is packed of keys and values.
  static constexpr int64_t kMostRows = 64;

  void emitBlock(ValueRange at, Value firstRow, int64_t count);
  /// The first element of a matrix of an operand whose batch dimensions broadcast.
  Value matrix(Value operand, ValueRange at);
  Value score(Value product, ValueRange at, int64_t lanes);
  Value element(Value operand, ValueRange at, Value row, Value column);
  Value scoreOf(ValueRange at, Value key);

  AttentionOp op;
  KernelEmitter &kernel;
  int64_t rows, keys, depth, columns;
  ArrayRef<int64_t> batch;
  int64_t block = 1, blocks = 1; ///< Rows of a work item; items of a matrix.
  Value scores;                  ///< [block][keys]
};

Value AttentionEmitter::matrix(Value operand, ValueRange at) {
  ArrayRef<int64_t> shape = shapeOf(operand);
  Value offset = kernel.index(0);
  int64_t stride = product(shape.take_back(2));
  for (size_t d = batch.size(); d-- > 0;) {
    if (shape[d] != 1)
      offset = kernel.add(offset, kernel.mul(at[d], stride));
    stride *= shape[d];
  }
  return kernel.address(kernel.pointer(operand), typeOf(operand).getElementType(), offset);
}

/// Scaled and masked; `at` are the indices of the first lane, batch dimensions first.
Value AttentionEmitter::score(Value product, ValueRange at, int64_t lanes) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const double scale = op.getScale().convertToDouble();
  Value value = product;
  if (scale != 1.0) {
    Value factor = emitConstant(b, loc, value.getType(), scale);
    value = emitBinary(b, loc, op.getDivides() ? BinaryKind::div : BinaryKind::mul, value, factor, false);
  }
  if (op.getMask())
    value = emitBinary(b, loc, BinaryKind::add, value, kernel.broadcastElements(op.getMask(), at, lanes), false);
  return value;
}

void AttentionEmitter::emit() {
  const int64_t extent = product(batch) * blocks;
  kernel.parallel(extent, kernel.work(Rate::Products), [&](Value begin, Value end) {
    scores = kernel.stackBuffer(op.getType().getElementType(), block * keys);
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<int64_t> extents(batch);
      extents.push_back(blocks);
      SmallVector<Value> at = kernel.delinearize(item, extents);
      Value index = at.pop_back_val(), first = kernel.mul(index, block);
      const int64_t last = rows - (blocks - 1) * block;
      if (last == block)
        return emitBlock(at, first, block);
      OpBuilder &b = kernel.builder();
      Value isLast = arith::CmpIOp::create(b, kernel.loc(), arith::CmpIPredicate::eq, index, kernel.index(blocks - 1));
      Value isWhole = arith::CmpIOp::create(b, kernel.loc(), arith::CmpIPredicate::ne, index, kernel.index(blocks - 1));
      kernel.ifThen(isWhole, [&] { emitBlock(at, first, block); });
      kernel.ifThen(isLast, [&] { emitBlock(at, first, last); });
    });
  });
}

void AttentionEmitter::emitBlock(ValueRange at, Value firstRow, int64_t count) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type f32 = op.getType().getElementType();
  auto multiply = [&](const emit::MatmulSpec &spec, Value lhs, Value rhs, auto sink) {
    const int64_t items = emit::parallelExtent(spec, kernel.target());
    emit::emitMatmul(b, loc, spec, kernel.target(), {{lhs, f32}, {rhs, f32}}, {kernel.index(0), kernel.index(items)},
                     [&](OpBuilder &inner, Location, Value value, ValueRange position, int64_t lanes) {
                       kernel.inSink(inner, [&] {
                         SmallVector<Value> indices(at);
                         indices.append({kernel.add(firstRow, position[0]), position[1]});
                         sink(value, position, indices, lanes);
                       });
                     });
  };
  emit::MatmulSpec product;
  product.m = count;
  product.n = keys;
  product.k = product.lda = depth;
  product.transposeB = !op.getTransposed();
  product.ldb = op.getTransposed() ? keys : depth;
  Value query = kernel.address(matrix(op.getQuery(), at), f32, kernel.mul(firstRow, depth));
  multiply(product, query, matrix(op.getKey(), at),
           [&](Value value, ValueRange position, ValueRange indices, int64_t lanes) {
             kernel.store(scores, f32, kernel.add(kernel.mul(position[0], keys), position[1]),
                          score(value, indices, lanes));
           });
  const int64_t lanes = kernel.target().lanesF32;
  const RowReducer row{kernel, keys, keys >= lanes ? lanes : 1};
  kernel.loop(0, count, 1, [&](Value r) {
    Value buffer = kernel.address(scores, f32, kernel.mul(r, keys));
    RowSoftmax{row, f32, false, buffer}.emit(
        [&](Value i, int64_t n) { return kernel.load(buffer, f32, i, n); },
        [&](Value i, int64_t, Value value) { kernel.store(buffer, f32, i, value); });
  });
  emit::MatmulSpec sum;
  sum.m = count;
  sum.n = sum.ldb = columns;
  sum.k = sum.lda = keys;
  sum.sinkStyle = kernel.sinkStyle();
  multiply(sum, scores, matrix(op.getValue(), at),
           [&](Value value, ValueRange, ValueRange indices, int64_t n) { kernel.storeLanes(value, indices, n); });
}

Value AttentionEmitter::element(Value operand, ValueRange at, Value row, Value column) {
  SmallVector<Value> indices;
  for (size_t d = 0; d < batch.size(); ++d)
    indices.push_back(shapeOf(operand)[d] == 1 ? kernel.index(0) : at[d]);
  indices.append({row, column});
  return kernel.element(operand, indices);
}

Value AttentionEmitter::scoreOf(ValueRange at, Value key) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Value zero = emitConstant(b, loc, op.getType().getElementType(), 0);
  Value sum = kernel.reduce(kernel.index(0), kernel.index(depth), 1, zero, [&](Value d, ValueRange sums) {
    Value x = element(op.getQuery(), at, at[batch.size()], d);
    Value y = op.getTransposed() ? element(op.getKey(), at, d, key) : element(op.getKey(), at, key, d);
    return SmallVector<Value>{
        emitBinary(b, loc, BinaryKind::add, sums[0], emitBinary(b, loc, BinaryKind::mul, x, y, false), false)};
  })[0];
  SmallVector<Value> indices(at.take_front(batch.size() + 1));
  indices.push_back(key);
  return score(sum, indices, 1);
}

void AttentionEmitter::emitElements() {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  const int64_t extent = product(shape);
  kernel.parallel(extent, {Rate::Scalars, op.getFlops() * Count(columns), 0}, [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value linear) {
      OpBuilder &b = kernel.builder();
      Location loc = kernel.loc();
      Type f32 = op.getType().getElementType();
      SmallVector<Value> at = kernel.delinearize(linear, shape);
      auto overKeys = [&](ValueRange initial, function_ref<SmallVector<Value>(Value, ValueRange)> body) {
        return kernel.reduce(kernel.index(0), kernel.index(keys), 1, initial, body);
      };
      Value top = overKeys(emitExtreme(b, loc, f32, false, /*lowest=*/true), [&](Value key, ValueRange tops) {
        return SmallVector<Value>{arith::MaximumFOp::create(b, loc, tops[0], scoreOf(at, key))};
      })[0];
      Value zero = emitConstant(b, loc, f32, 0);
      SmallVector<Value> sums = overKeys({zero, zero}, [&](Value key, ValueRange sums) {
        Value e = math::ExpOp::create(b, loc, emitBinary(b, loc, BinaryKind::sub, scoreOf(at, key), top, false));
        Value term = emitBinary(b, loc, BinaryKind::mul, e, element(op.getValue(), at, key, at.back()), false);
        return SmallVector<Value>{emitBinary(b, loc, BinaryKind::add, sums[0], e, false),
                                  emitBinary(b, loc, BinaryKind::add, sums[1], term, false)};
      });
      kernel.store(emitBinary(b, loc, BinaryKind::div, sums[1], sums[0], false), at);
    });
  });
}

} // namespace

static void emitAttentionKernel(AttentionOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  AttentionEmitter emitter(op, kernel);
  if (kernel.inGrids() || op.getKeys() > kMostAttentionScores || op.getDepth() == 0)
    emitter.emitElements();
  else
    emitter.emit();
}

void sluice::dataflow::attachAttentionKernels(MLIRContext *context) {
  attach<KernelModel<emitAttentionKernel>>(context);
}
