//===- GridProduct.cpp - Contractions as grids of tiles -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sluice::dataflow {

namespace {

/// Threads of a block: kSide x kSide.
constexpr int64_t kSide = 16, kThreads = kSide * kSide;
constexpr int64_t kDepth = 16;
/// Elements read from shared memory at once.
constexpr int64_t kChunk = 4;
/// Empty elements behind a tile's row, so that a column's are in different banks.
constexpr int64_t kPad = 4;

/// Extents of a block's tile of C: multiples of kSide.
struct Tile {
  int64_t rows, columns;
};

Tile chooseTile(const GridProduct &product) {
  constexpr int64_t kLargest = 128, kSmallest = 32, kEnoughBlocks = 128;
  auto fit = [](int64_t extent) {
    int64_t tile = kSide;
    while (tile < extent && tile < kLargest)
      tile *= 2;
    return tile;
  };
  Tile tile{fit(product.m), fit(product.n)};
  // Sums of 64 bits take two registers each.
  int64_t most = product.type.getIntOrFloatBitWidth() > 32 ? kLargest / 2 : kLargest;
  tile.rows = std::min(tile.rows, most);
  tile.columns = std::min(tile.columns, most);
  auto blocks = [&] {
    return product.batches * ((product.m + tile.rows - 1) / tile.rows) *
           ((product.n + tile.columns - 1) / tile.columns);
  };
  while (blocks() < kEnoughBlocks && std::max(tile.rows, tile.columns) > kSmallest)
    (tile.rows > tile.columns ? tile.rows : tile.columns) /= 2;
  return tile;
}

/// A tile of an operand on its way through registers to shared memory, as
/// [kDepth][extent]. Each thread moves `each` elements.
class TileLoader {
public:
  TileLoader(KernelEmitter &kernel, const GridProduct &product, int64_t extent, int64_t bound, bool alongK,
             Value thread, Value first)
      : kernel(kernel), product(product), extent(extent), bound(bound), alongK(alongK), first(first),
        pitch(extent + kPad), shared(kernel.sharedBuffer(product.type, kDepth * pitch)) {
    OpBuilder &b = kernel.builder();
    int64_t inner = alongK ? kDepth : extent;
    low = arith::RemUIOp::create(b, kernel.loc(), thread, kernel.index(inner));
    high = arith::DivUIOp::create(b, kernel.loc(), thread, kernel.index(inner));
    step = kThreads / inner;
  }

  int64_t each() const { return extent * kDepth / kThreads; }

  /// Reads the part of the tile at `depth` that is this thread's; zero outside
  /// of the matrix, where the last element is read instead.
  void load(Value depth, llvm::function_ref<Value(Value along, Value k)> read, SmallVectorImpl<Value> &values) const {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    for (int64_t i = 0; i < each(); ++i) {
      auto [position, k] = place(i);
      Value along = kernel.add(first, position), at = kernel.add(depth, k);
      Value inside;
      auto clamp = [&](Value x, int64_t limit) -> Value {
        Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, kernel.index(limit));
        inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
        return arith::SelectOp::create(b, loc, in, x, kernel.index(limit - 1));
      };
      if (bound % extent != 0)
        along = clamp(along, bound);
      at = clamp(at, product.k);
      Value value = read(along, at);
      values.push_back(
          arith::SelectOp::create(b, loc, inside, value, emitConstant(b, loc, product.type, 0)).getResult());
    }
  }

  void toShared(ValueRange values) const {
    for (int64_t i = 0; i < each(); ++i) {
      auto [position, k] = place(i);
      kernel.store(shared, product.type, kernel.add(kernel.mul(k, pitch), position), values[i]);
    }
  }

  /// The elements of one thread, of `kSide` that share the tile, at depth k.
  void fromShared(Value k, Value side, SmallVectorImpl<Value> &values) const {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    int64_t chunk = chunkOf(extent);
    for (int64_t c = 0; c < extent / (kSide * chunk); ++c) {
      Value at = kernel.add(kernel.mul(k, pitch), kernel.add(kernel.mul(side, chunk), kernel.index(c * kSide * chunk)));
      if (chunk == 1) {
        values.push_back(kernel.load(shared, product.type, at));
        continue;
      }
      Value address = kernel.address(shared, product.type, at);
      Value vector = emitLoad(b, loc, address, product.type, chunk, /*whole=*/true);
      for (int64_t i = 0; i < chunk; ++i)
        values.push_back(vector::ExtractOp::create(b, loc, vector, i));
    }
  }

  static int64_t chunkOf(int64_t extent) { return std::min(kChunk, extent / kSide); }

  /// Where element number i of a thread is within the tile.
  static Value offsetOf(KernelEmitter &kernel, int64_t extent, Value side, int64_t i) {
    int64_t chunk = chunkOf(extent);
    return kernel.add(kernel.mul(side, chunk), kernel.index(i / chunk * kSide * chunk + i % chunk));
  }

private:
  std::pair<Value, Value> place(int64_t i) const {
    Value moved = kernel.add(high, kernel.index(i * step));
    return alongK ? std::pair(moved, low) : std::pair(low, moved);
  }

  KernelEmitter &kernel;
  const GridProduct &product;
  int64_t extent, bound;
  bool alongK;
  Value first;
  int64_t pitch;
  Value shared, low, high;
  int64_t step;
};

Value multiplyAdd(KernelEmitter &kernel, Value x, Value y, Value sum) {
  OpBuilder &b = kernel.builder();
  if (isa<FloatType>(sum.getType()))
    return math::FmaOp::create(b, kernel.loc(), x, y, sum);
  return arith::AddIOp::create(b, kernel.loc(), sum, arith::MulIOp::create(b, kernel.loc(), x, y));
}

} // namespace

void emitGridProduct(KernelEmitter &kernel, const GridProduct &product) {
  const Tile tile = chooseTile(product);
  const int64_t rowTiles = (product.m + tile.rows - 1) / tile.rows;
  const int64_t columnTiles = (product.n + tile.columns - 1) / tile.columns;
  const int64_t rows = tile.rows / kSide, columns = tile.columns / kSide;
  constexpr int64_t kUnroll = 4;
  kernel.grid(product.batches * rowTiles * columnTiles, kThreads, [&] {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> at = kernel.delinearize(kernel.blockIndex(), {product.batches, rowTiles, columnTiles});
    Value batch = at[0], firstRow = kernel.mul(at[1], tile.rows), firstColumn = kernel.mul(at[2], tile.columns);
    Value thread = kernel.threadIndex();
    Value sideRow = arith::DivUIOp::create(b, loc, thread, kernel.index(kSide));
    Value sideColumn = arith::RemUIOp::create(b, loc, thread, kernel.index(kSide));
    TileLoader lhs(kernel, product, tile.rows, product.m, product.lhsAlongK, thread, firstRow);
    TileLoader rhs(kernel, product, tile.columns, product.n, product.rhsAlongK, thread, firstColumn);
    auto load = [&](Value depth) {
      SmallVector<Value> values;
      lhs.load(
          depth, [&](Value m, Value k) { return product.lhs(batch, m, k); }, values);
      rhs.load(
          depth, [&](Value n, Value k) { return product.rhs(batch, k, n); }, values);
      return values;
    };

    SmallVector<Value> carried(rows * columns, emitConstant(b, loc, product.type, 0));
    carried.append(load(kernel.index(0)));
    carried =
        kernel.reduce(kernel.index(0), kernel.index(product.k), kDepth, carried, [&](Value depth, ValueRange values) {
          ValueRange read = values.drop_front(rows * columns);
          lhs.toShared(read.take_front(lhs.each()));
          rhs.toShared(read.drop_front(lhs.each()));
          kernel.barrier();
          SmallVector<Value> next = load(kernel.add(depth, kernel.index(kDepth)));
          // A tile's terms are summed on their own (Blanchard, Higham and Mary,
          // as in ContractionIr.h): where a sum decides how a quantized
          // activation rounds, an error becomes a whole step.
          SmallVector<Value> zeros(rows * columns, emitConstant(b, loc, product.type, 0));
          SmallVector<Value> sums = kernel.reduce(
              kernel.index(0), kernel.index(kDepth), kUnroll, zeros, [&](Value inner, ValueRange partial) {
                SmallVector<Value> sums(partial);
                for (int64_t u = 0; u < kUnroll; ++u) {
                  Value k = kernel.add(inner, kernel.index(u));
                  SmallVector<Value> x, y;
                  lhs.fromShared(k, sideRow, x);
                  rhs.fromShared(k, sideColumn, y);
                  for (int64_t i = 0; i < rows; ++i)
                    for (int64_t j = 0; j < columns; ++j)
                      sums[i * columns + j] = multiplyAdd(kernel, x[i], y[j], sums[i * columns + j]);
                }
                return sums;
              });
          kernel.barrier();
          for (int64_t i = 0; i < rows * columns; ++i)
            sums[i] = emitBinary(b, loc, BinaryKind::add, values[i], sums[i], false);
          sums.append(next);
          return sums;
        });

    auto put = [&](Value row, Value column, Value sum) {
      Value m = kernel.add(firstRow, row), n = kernel.add(firstColumn, column), inside;
      auto check = [&](Value x, int64_t bound, int64_t extent) {
        if (bound % extent == 0)
          return;
        Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, kernel.index(bound));
        inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
      };
      check(m, product.m, tile.rows);
      check(n, product.n, tile.columns);
      if (inside)
        kernel.ifThen(inside, [&] { product.sink(batch, m, n, sum); });
      else
        product.sink(batch, m, n, sum);
    };
    if (kernel.sinkStyle() == emit::SinkStyle::Inline || rows * columns == 1) {
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          put(TileLoader::offsetOf(kernel, tile.rows, sideRow, i),
              TileLoader::offsetOf(kernel, tile.columns, sideColumn, j), carried[i * columns + j]);
      return;
    }
    // A long epilogue is there once, over the sums in the thread's own memory.
    Value sums = kernel.stackBuffer(product.type, rows * columns);
    for (int64_t i = 0; i < rows * columns; ++i)
      kernel.store(sums, product.type, kernel.index(i), carried[i]);
    auto offset = [&](int64_t extent, Value side, Value i) {
      int64_t chunk = TileLoader::chunkOf(extent);
      Value round = arith::DivUIOp::create(b, loc, i, kernel.index(chunk));
      Value within = arith::RemUIOp::create(b, loc, i, kernel.index(chunk));
      return kernel.add(kernel.mul(side, chunk), kernel.add(kernel.mul(round, kSide * chunk), within));
    };
    kernel.loop(0, rows * columns, 1, [&](Value i) {
      SmallVector<Value> own = kernel.delinearize(i, {rows, columns});
      put(offset(tile.rows, sideRow, own[0]), offset(tile.columns, sideColumn, own[1]),
          kernel.load(sums, product.type, i));
    });
  });
}

} // namespace sluice::dataflow
