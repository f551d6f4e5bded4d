//===- Attention.cpp - Kernels of attention -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A work item is a block of rows of one matrix. The complete rows of scores are in scratch memory that fits into the
// cache of a core. Softmax is computed there, and the product with the values reads the scores there. Every sum has the
// same order of terms as in a matmul of as many rows and in softmax, so the results have the same bits.
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
      : op(op), kernel(kernel), keys(extentsOf(op.getValue()).end()[-2]), columns(extentsOf(op.getValue()).back()),
        batch(extentsOf(op.getQuery())) {
    depth = batch.pop_back_val();
    rows = batch.pop_back_val();
    const int64_t most = std::clamp<int64_t>(kMostAttentionScores / keys.most(), 1, kMostRows);
    block = rows.ceilDiv(rows.ceilDiv(most).most()).most();
    blocks = rows.ceilDiv(block);
    group = groupWithin(most);
  }

  void emit();
  /// A thread an element, which computes its row's scores anew: for grids, and rows beyond the scratch.
  void emitElements();

private:
  /// Rows that share what is packed of keys and values.
  static constexpr int64_t kMostRows = 64;
  /// A register tile has about so many rows, and more would leave threads without work.
  static constexpr int64_t kMostGroup = 8;

  /// Rows of scores that have the same keys and values.
  struct Rows {
    SmallVector<Value> at; ///< Indices of the first row's matrix.
    Value first;           ///< The first row of that matrix.
    int64_t count;         ///< Their number, or its upper bound
    Value value = {};      ///< and the number itself, where the step gives it.
    bool isGroup = false;  ///< They are the only rows of this matrix and of those that follow it.
  };

  /// How many matrices of a single row, in the last batch dimension, have the same keys and values and are computed as
  /// one: the largest divisor of their number that is at most `most` and kMostGroup.
  int64_t groupWithin(int64_t most);
  void emitBlocks(Value begin, Value end, const Extents &items);
  void emitBlock(const Rows &these);
  /// Indices of the score or result at (row, column) of `these`.
  SmallVector<Value> indicesOf(const Rows &these, ValueRange position);
  /// Elements between rows of scores. Where the step gives the keys, rows have room for the upper bounds and a cache
  /// line more: rows a power of two apart would share few sets of the cache.
  int64_t scoresPitch() const { return keys.isConstant() ? keys.most() : (keys.most() + 15) / 16 * 16 + 16; }
  void multiply(const Rows &these, const emit::MatmulSpec &spec, const emit::MatmulExtents &extents, Value lhs,
                Value rhs, function_ref<void(Value, ValueRange, ValueRange, int64_t)> sink);
  /// An extent of a step as a product takes it; null for a number.
  Value ofStep(const Extent &extent) { return extent.isConstant() ? Value() : ofStep(kernel.index(extent)); }
  Value ofStep(Value index) {
    OpBuilder &b = kernel.builder();
    return index ? arith::IndexCastOp::create(b, kernel.loc(), b.getI64Type(), index).getResult() : Value();
  }
  /// The first element of a matrix of an operand whose batch dimensions broadcast.
  Value matrix(Value operand, ValueRange at);
  Value score(Value product, ValueRange at, int64_t lanes);
  Value element(Value operand, ValueRange at, Value row, Value column);
  Value scoreOf(ValueRange at, Value key);

  AttentionOp op;
  KernelEmitter &kernel;
  Extent rows = 1, keys, depth = 1, columns;
  Extents batch;
  int64_t block = 1; ///< Rows of a work item.
  Extent blocks = 1; ///< Items of a matrix.
  int64_t group = 1; ///< See groupWithin().
  Value scores;      ///< [block or group][scoresPitch()]
};

Value AttentionEmitter::matrix(Value operand, ValueRange at) {
  // A slice keeps the strides of what it is taken of.
  const Value stored = slicedTensor(operand);
  const Extents shape = extentsOf(stored);
  Value offset = kernel.index(0);
  Extent stride = productOf(ArrayRef(shape).take_back(2));
  for (size_t d = batch.size(); d-- > 0;) {
    if (!shape[d].is(1))
      offset = kernel.add(offset, kernel.mul(at[d], stride));
    stride = stride * shape[d];
  }
  return kernel.address(kernel.pointer(stored), typeOf(operand).getElementType(), offset);
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

int64_t AttentionEmitter::groupWithin(int64_t most) {
  const bool mayBeOne = rows.is(1) || !rows.isConstant();
  if (batch.empty() || !batch.back().isConstant() || !mayBeOne || slicedTensor(op.getQuery()) != op.getQuery())
    return 1;
  for (Value operand : {op.getKey(), op.getValue()})
    if (!extentsOf(slicedTensor(operand)).end()[-3].is(1))
      return 1;
  const int64_t all = batch.back().most();
  int64_t largest = std::min({all, most, kMostGroup});
  while (largest > 1 && all % largest != 0)
    --largest;
  return std::max<int64_t>(largest, 1);
}

void AttentionEmitter::emitBlocks(Value begin, Value end, const Extents &items) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  kernel.loop(begin, end, 1, [&](Value item) {
    SmallVector<Value> at = kernel.delinearize(item, items);
    Value index = at.pop_back_val(), first = kernel.mul(index, block);
    if (!rows.isConstant()) {
      Value left = arith::SubIOp::create(b, loc, kernel.index(rows), first);
      return emitBlock({at, first, block, arith::MinSIOp::create(b, loc, left, kernel.index(block))});
    }
    const int64_t last = (rows - (blocks - 1) * block).most();
    if (last == block)
      return emitBlock({at, first, block});
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, kernel.index(blocks - 1));
    Value isWhole = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, index, kernel.index(blocks - 1));
    kernel.ifThen(isWhole, [&] { emitBlock({at, first, block}); });
    kernel.ifThen(isLast, [&] { emitBlock({at, first, last}); });
  });
}

void AttentionEmitter::emit() {
  Extents items(batch);
  items.push_back(blocks);
  auto emitChunk = [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    scores = kernel.stackBuffer(op.getType().getElementType(), std::max(block, group) * scoresPitch());
    if (group == 1)
      return emitBlocks(begin, end, items);
    // A step of one token: an item is a matrix of one row. The chunk that has a group's first item computes the group,
    // so chunks of longer steps may be shorter than groups.
    auto emitGroups = [&] {
      Value size = kernel.index(group), first = arith::CeilDivUIOp::create(b, loc, begin, size);
      kernel.loop(arith::MulIOp::create(b, loc, first, size), end, group, [&](Value item) {
        emitBlock({kernel.delinearize(item, batch), kernel.index(0), group, {}, /*isGroup=*/true});
      });
    };
    if (rows.is(1))
      return emitGroups();
    auto compare = [&](arith::CmpIPredicate by) -> Value {
      return arith::CmpIOp::create(b, loc, by, kernel.index(rows), kernel.index(1));
    };
    kernel.ifThen(compare(arith::CmpIPredicate::eq), emitGroups);
    kernel.ifThen(compare(arith::CmpIPredicate::ne), [&] { emitBlocks(begin, end, items); });
  };
  kernel.parallel(productOf(items), kernel.work(Rate::Products), emitChunk);
}

SmallVector<Value> AttentionEmitter::indicesOf(const Rows &these, ValueRange position) {
  SmallVector<Value> indices(these.at);
  if (these.isGroup) {
    indices.back() = kernel.add(indices.back(), position[0]);
    indices.append({kernel.index(0), position[1]});
  } else {
    indices.append({kernel.add(these.first, position[0]), position[1]});
  }
  return indices;
}

void AttentionEmitter::multiply(const Rows &these, const emit::MatmulSpec &spec, const emit::MatmulExtents &extents,
                                Value lhs, Value rhs, function_ref<void(Value, ValueRange, ValueRange, int64_t)> sink) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type f32 = op.getType().getElementType();
  const emit::MatmulBlocking blocking = emit::chooseBlocking(spec, kernel.target());
  auto parts = [&](Value extent, int64_t count, int64_t by) -> Value {
    if (!extent)
      return kernel.index(count);
    Value value = arith::IndexCastOp::create(b, loc, b.getIndexType(), extent);
    return arith::CeilDivUIOp::create(b, loc, value, kernel.index(by));
  };
  const bool isOfStep = extents.m || extents.n;
  Value items = isOfStep ? arith::MulIOp::create(b, loc, parts(extents.m, blocking.rowBlocks, blocking.rowBlock),
                                                 parts(extents.n, blocking.panels, blocking.tile.block()))
                         : kernel.index(blocking.rowBlocks * blocking.panels);
  emit::emitMatmul(b, loc, spec, kernel.target(), {{lhs, f32}, {rhs, f32}, extents}, {kernel.index(0), items},
                   [&](OpBuilder &inner, Location, Value value, ValueRange position, int64_t lanes) {
                     kernel.inSink(inner, [&] { sink(value, position, indicesOf(these, position), lanes); });
                   });
}

void AttentionEmitter::emitBlock(const Rows &these) {
  const auto &[at, firstRow, count, value, isGroup] = these;
  Type f32 = op.getType().getElementType();
  const int64_t pitch = scoresPitch();
  emit::MatmulSpec product;
  product.m = count;
  product.n = keys.most();
  product.k = product.lda = depth.most();
  product.transposeB = !op.getTransposed();
  const Extent keyPitch = extentsOf(slicedTensor(op.getKey())).back();
  product.ldb = keyPitch.most();
  emit::MatmulExtents extents{ofStep(value), ofStep(keys), ofStep(depth)};
  extents.lda = extents.k;
  extents.ldb = ofStep(keyPitch);
  Value query = kernel.address(matrix(op.getQuery(), at), f32, kernel.mul(firstRow, depth));
  multiply(these, product, extents, query, matrix(op.getKey(), at),
           [&](Value value, ValueRange position, ValueRange indices, int64_t lanes) {
             kernel.store(scores, f32, kernel.add(kernel.mul(position[0], pitch), position[1]),
                          score(value, indices, lanes));
           });
  const int64_t lanes = kernel.target().lanesF32;
  const RowReducer row{kernel, keys, keys.most() >= lanes ? lanes : 1};
  kernel.loop(kernel.index(0), value ? value : kernel.index(count), 1, [&](Value r) {
    Value buffer = kernel.address(scores, f32, kernel.mul(r, pitch));
    RowSoftmax{row, f32, false, buffer}.emit(
        [&](Value i, int64_t n) { return kernel.load(buffer, f32, i, n); },
        [&](Value i, int64_t, Value value) { kernel.store(buffer, f32, i, value); });
  });
  emit::MatmulSpec sum;
  sum.m = count;
  const Extent valuePitch = extentsOf(slicedTensor(op.getValue())).back();
  sum.n = columns.most();
  sum.ldb = valuePitch.most();
  sum.k = sum.lda = pitch;
  sum.sinkStyle = kernel.sinkStyle();
  emit::MatmulExtents sumExtents{ofStep(value), ofStep(columns), ofStep(keys)};
  sumExtents.ldb = ofStep(valuePitch);
  multiply(these, sum, sumExtents, scores, matrix(op.getValue(), at),
           [&](Value value, ValueRange, ValueRange indices, int64_t n) { kernel.storeLanes(value, indices, n); });
}

Value AttentionEmitter::element(Value operand, ValueRange at, Value row, Value column) {
  SmallVector<Value> indices;
  for (size_t d = 0; d < batch.size(); ++d)
    indices.push_back(extentsOf(operand)[d].is(1) ? kernel.index(0) : at[d]);
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
  const Extents shape = extentsOf(op.getResult());
  const Work work{Rate::Scalars, op.getFlops() * Count(columns.most()), 0};
  kernel.parallel(productOf(shape), work, [&](Value begin, Value end) {
    kernel.loopItems(begin, end, shape, [&](ArrayRef<Value> at) {
      OpBuilder &b = kernel.builder();
      Location loc = kernel.loc();
      Type f32 = op.getType().getElementType();
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
  attach<KernelModel<emitAttentionKernel, KernelExtents::OfStep>>(context);
}
