//===- GridProduct.cpp - Contractions as grids of tiles -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/ProductTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace sluice::dataflow {

namespace {

/// Extents of a block's tile of C: multiples of kTileSide.
struct Tile {
  int64_t rows, columns;
};

/// Of mma.sync: a warp's fragments of C, with f32 sums. Their depth is 8 words.
constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8, kFragmentDepth = 8;
/// The first architecture with asynchronous copies and these fragments.
constexpr unsigned kAmpere = 80;

Tile chooseTile(const GridProduct &product, bool byTensorCores) {
  constexpr int64_t kLargest = 128, kSmallest = 32, kEnoughBlocks = 128;
  auto fit = [&](int64_t extent) {
    // Eight warps have a fragment each at least.
    int64_t tile = byTensorCores ? kSmallest : kTileSide;
    while (tile < extent && tile < kLargest)
      tile *= 2;
    return tile;
  };
  Tile tile{fit(product.m.most()), fit(product.n.most())};
  // Sums of 64 bits take two registers each.
  int64_t most = product.type.getIntOrFloatBitWidth() > 32 ? kLargest / 2 : kLargest;
  tile.rows = std::min(tile.rows, most);
  tile.columns = std::min(tile.columns, most);
  auto blocks = [&] {
    return product.batches.most() * product.m.ceilDiv(tile.rows).most() * product.n.ceilDiv(tile.columns).most();
  };
  while (blocks() < kEnoughBlocks && std::max(tile.rows, tile.columns) > kSmallest)
    (tile.rows > tile.columns ? tile.rows : tile.columns) /= 2;
  return tile;
}

Value multiplyAdd(KernelEmitter &kernel, Value x, Value y, Value sum) {
  OpBuilder &b = kernel.builder();
  if (isa<FloatType>(sum.getType()))
    return math::FmaOp::create(b, kernel.loc(), x, y, sum);
  return arith::AddIOp::create(b, kernel.loc(), sum, arith::MulIOp::create(b, kernel.loc(), x, y));
}

/// How a block's threads share a tile of C: each has `count` elements.
class Division {
public:
  virtual ~Division() = default;
  virtual int64_t count() const = 0;
  /// Adds the products of two tiles in shared memory to this thread's sums.
  virtual SmallVector<Value> multiply(const OperandTiles &lhs, const OperandTiles &rhs, Value stage,
                                      ValueRange sums) = 0;
  /// Where element `i` (an index value) of this thread is in the tile.
  virtual std::pair<Value, Value> positionOf(Value i) = 0;
};

/// A thread has rows x columns elements, from the rows of its side and the
/// columns of its other.
class ThreadDivision final : public Division {
public:
  ThreadDivision(KernelEmitter &kernel, Type type, Tile tile, const OperandTiles &lhs, const OperandTiles &rhs)
      : kernel(kernel), type(type), rows(tile.rows / kTileSide), columns(tile.columns / kTileSide),
        rowChunk(lhs.chunk()), columnChunk(rhs.chunk()) {
    SmallVector<Value> sides = kernel.delinearize(kernel.threadIndex(), {kTileSide, kTileSide});
    sideRow = sides[0], sideColumn = sides[1];
  }

  int64_t count() const override { return rows * columns; }

  SmallVector<Value> multiply(const OperandTiles &lhs, const OperandTiles &rhs, Value stage, ValueRange sums) override {
    OpBuilder &b = kernel.builder();
    // A tile's terms are summed on their own (Blanchard, Higham and Mary, as in
    // ContractionIr.h): where a sum decides how a quantized activation rounds, an
    // error becomes a whole step.
    SmallVector<Value> zeros(count(), emitConstant(b, kernel.loc(), type, 0));
    SmallVector<Value> partial =
        kernel.reduce(kernel.index(0), kernel.index(kTileDepth), kChunk, zeros, [&](Value depth, ValueRange before) {
          SmallVector<Value> now(before);
          SmallVector<SmallVector<Value>> x = lhs.columns(stage, depth, sideRow),
                                          y = rhs.columns(stage, depth, sideColumn);
          for (int64_t k = 0; k < kChunk; ++k)
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < columns; ++j)
                now[i * columns + j] = multiplyAdd(kernel, x[k][i], y[k][j], now[i * columns + j]);
          return now;
        });
    for (int64_t i = 0; i < count(); ++i)
      partial[i] = emitBinary(b, kernel.loc(), BinaryKind::add, sums[i], partial[i], false);
    return partial;
  }

  std::pair<Value, Value> positionOf(Value i) override {
    SmallVector<Value> own = kernel.delinearize(i, {rows, columns});
    return {OperandTiles::positionOf(kernel, rowChunk, sideRow, own[0]),
            OperandTiles::positionOf(kernel, columnChunk, sideColumn, own[1])};
  }

private:
  KernelEmitter &kernel;
  Type type;
  int64_t rows, columns, rowChunk, columnChunk;
  Value sideRow, sideColumn;
};

/// A warp has fragments of 16 x 8 elements, near to a square of them. Layouts of
/// fragments: PTX ISA, "Matrix Fragments for mma.m16n8k8" and "m16n8k16".
class WarpDivision final : public Division {
public:
  WarpDivision(KernelEmitter &kernel, MatmulPrecision precision, Tile tile) : kernel(kernel), precision(precision) {
    constexpr int64_t kWarps = kTileThreads / kWarpThreads;
    int64_t warpRows = 0;
    auto sides = [&](int64_t along) { return tile.rows / along + tile.columns / (kWarps / along); };
    for (int64_t along = 1; along <= kWarps; along *= 2)
      if (tile.rows / along % kFragmentRows == 0 && tile.columns / (kWarps / along) % kFragmentColumns == 0 &&
          (warpRows == 0 || sides(along) < sides(warpRows)))
        warpRows = along;
    int64_t warpColumns = kWarps / warpRows;
    rows = tile.rows / warpRows / kFragmentRows;
    columns = tile.columns / warpColumns / kFragmentColumns;
    SmallVector<Value> at = kernel.delinearize(kernel.threadIndex(), {warpRows, warpColumns, kFragmentRows / 2, 4});
    group = at[2], member = at[3];
    firstRow = kernel.mul(at[0], rows * kFragmentRows);
    firstColumn = kernel.mul(at[1], columns * kFragmentColumns);
  }

  int64_t count() const override { return rows * columns * kSums; }

  SmallVector<Value> multiply(const OperandTiles &lhs, const OperandTiles &rhs, Value stage, ValueRange sums) override {
    SmallVector<Value> next(sums);
    for (int64_t depth = 0; depth < kTileDepth; depth += kFragmentDepth) {
      auto word = [&](const OperandTiles &tiles, Value first, int64_t along, int64_t k) {
        return tiles.word(stage, kernel.add(kernel.add(first, group), kernel.index(along)),
                          kernel.add(member, kernel.index(depth + k)));
      };
      SmallVector<SmallVector<Value>> x, y;
      for (int64_t i = 0; i < rows; ++i) {
        int64_t at = i * kFragmentRows;
        x.push_back({word(lhs, firstRow, at, 0), word(lhs, firstRow, at + 8, 0), word(lhs, firstRow, at, 4),
                     word(lhs, firstRow, at + 8, 4)});
      }
      for (int64_t j = 0; j < columns; ++j) {
        int64_t at = j * kFragmentColumns;
        y.push_back({word(rhs, firstColumn, at, 0), word(rhs, firstColumn, at, 4)});
      }
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          multiplyFragments(x[i], y[j], MutableArrayRef(next).slice((i * columns + j) * kSums, kSums));
    }
    return next;
  }

  std::pair<Value, Value> positionOf(Value i) override {
    SmallVector<Value> at = kernel.delinearize(i, {rows, columns, 2, 2});
    Value row = kernel.add(kernel.add(firstRow, group),
                           kernel.add(kernel.mul(at[0], kFragmentRows), kernel.mul(at[2], kFragmentRows / 2)));
    Value column = kernel.add(kernel.add(firstColumn, kernel.mul(member, 2)),
                              kernel.add(kernel.mul(at[1], kFragmentColumns), at[3]));
    return {row, column};
  }

private:
  static constexpr int64_t kSums = 4; ///< A thread's of a fragment.

  void multiplyFragments(ArrayRef<Value> x, ArrayRef<Value> y, MutableArrayRef<Value> sums) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> lhs(x), rhs(y);
    NVVM::MMATypes type = precision == MatmulPrecision::TF32   ? NVVM::MMATypes::tf32
                          : precision == MatmulPrecision::BF16 ? NVVM::MMATypes::bf16
                                                               : NVVM::MMATypes::f16;
    if (precision == MatmulPrecision::F16)
      for (SmallVector<Value> *words : {&lhs, &rhs})
        for (Value &word : *words)
          word = LLVM::BitcastOp::create(b, loc, VectorType::get(2, b.getF16Type()), word);
    auto result = LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(kSums, b.getF32Type()));
    int64_t depth = kFragmentDepth * elementsOfWord(precision);
    Value product = NVVM::MmaOp::create(b, loc, result, lhs, rhs, sums, {kFragmentRows, kFragmentColumns, depth},
                                        std::nullopt, std::nullopt, std::array{type, type},
                                        std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
    for (int64_t i = 0; i < kSums; ++i)
      sums[i] = LLVM::ExtractValueOp::create(b, loc, product, i);
  }

  KernelEmitter &kernel;
  MatmulPrecision precision;
  int64_t rows = 0, columns = 0; ///< Fragments.
  Value group, member;           ///< Of four threads in a warp.
  Value firstRow, firstColumn;
};

/// The first element of a block's tile.
struct TilePosition {
  Value batch, row, column;
};

/// One thread's code.
void emitBlock(KernelEmitter &kernel, const GridProduct &product, Tile tile, ValueRange shared,
               const TilePosition &first, TileForm form) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  OperandTiles lhs(kernel, product, product.lhs, {product.m, tile.rows, first.row}, form, shared[0], first.batch);
  OperandTiles rhs(kernel, product, product.rhs, {product.n, tile.columns, first.column}, form, shared[1], first.batch);
  std::unique_ptr<Division> division;
  if (form.precision == MatmulPrecision::F32)
    division = std::make_unique<ThreadDivision>(kernel, product.type, tile, lhs, rhs);
  else
    division = std::make_unique<WarpDivision>(kernel, form.precision, tile);

  const int64_t depth = kTileDepth * elementsOfWord(form.precision), count = division->count();
  auto begin = [&](Value k, Value stage) {
    SmallVector<Value> values = lhs.begin(k, stage);
    llvm::append_range(values, rhs.begin(k, stage));
    emitCommitCopies(kernel, lhs, rhs);
    return values;
  };
  SmallVector<Value> carried(count, emitConstant(b, loc, product.type, 0));
  carried.append(begin(kernel.index(0), kernel.index(0)));
  carried = kernel.reduce(kernel.index(0), kernel.index(product.k), depth, carried, [&](Value k, ValueRange values) {
    Value stage =
        arith::RemUIOp::create(b, loc, arith::DivUIOp::create(b, loc, k, kernel.index(depth)), kernel.index(2));
    ValueRange moving = values.drop_front(count);
    lhs.finish(moving.take_front(lhs.numValues()), stage);
    rhs.finish(moving.drop_front(lhs.numValues()), stage);
    emitAwaitCopies(kernel, lhs, rhs);
    // Behind it, all tiles are there, and nobody reads those before.
    kernel.barrier();
    Value other = arith::SubIOp::create(b, loc, kernel.index(1), stage);
    SmallVector<Value> next = begin(kernel.add(k, kernel.index(depth)), other);
    SmallVector<Value> sums = division->multiply(lhs, rhs, stage, values.take_front(count));
    sums.append(next);
    return sums;
  });
  emitAwaitCopies(kernel, lhs, rhs);

  auto put = [&](Value i, Value sum) {
    auto [row, column] = division->positionOf(i);
    Value m = kernel.add(first.row, row), n = kernel.add(first.column, column), inside;
    auto check = [&](Value x, const Extent &bound, int64_t extent) {
      if (isMultipleOf(bound, extent))
        return;
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, kernel.index(bound));
      inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
    };
    check(m, product.m, tile.rows);
    check(n, product.n, tile.columns);
    if (inside)
      kernel.ifThen(inside, [&] { product.sink(first.batch, m, n, sum); });
    else
      product.sink(first.batch, m, n, sum);
  };
  if (kernel.sinkStyle() == emit::SinkStyle::Inline || count == 1) {
    for (int64_t i = 0; i < count; ++i)
      put(kernel.index(i), carried[i]);
    return;
  }
  // A long epilogue is there once, over the sums in the thread's own memory.
  Value sums = kernel.stackBuffer(product.type, count);
  for (int64_t i = 0; i < count; ++i)
    kernel.store(sums, product.type, kernel.index(i), carried[i]);
  kernel.loop(0, count, 1, [&](Value i) { put(i, kernel.load(sums, product.type, i)); });
}

} // namespace

int64_t longestRun(Type elementType, const Extent &extent) {
  constexpr int64_t kRunBytes = 16;
  int64_t run = kRunBytes / elementBytes(elementType);
  while (run > 1 && !isMultipleOf(extent, run))
    run /= 2;
  return std::max<int64_t>(1, run);
}

/// What operands become. Those of 16 bits are not rounded: their products are exact.
static MatmulPrecision precisionOf(KernelEmitter &kernel, const GridProduct &product) {
  constexpr int64_t kLeast = kFragmentRows;
  MatmulPrecision wanted = kernel.matmulPrecision();
  if (wanted == MatmulPrecision::F32 || product.lhs.read ||
      std::min({product.m.most(), product.n.most(), product.k.most()}) < kLeast)
    return MatmulPrecision::F32;
  Type element = cast<RankedTensorType>(product.lhs.tensor.getType()).getElementType();
  return element.isF16()    ? MatmulPrecision::F16
         : element.isBF16() ? MatmulPrecision::BF16
         : element.isF32()  ? wanted
                            : MatmulPrecision::F32;
}

void emitGridProduct(KernelEmitter &kernel, const GridProduct &product) {
  const TileForm older, newer{true, precisionOf(kernel, product)};
  const Tile tile = chooseTile(product, newer.precision != MatmulPrecision::F32);
  const Extent rowTiles = product.m.ceilDiv(tile.rows), columnTiles = product.n.ceilDiv(tile.columns);
  kernel.grid(product.batches * rowTiles * columnTiles, kTileThreads, [&] {
    SmallVector<Value> at = kernel.delinearize(kernel.blockIndex(), {product.batches, rowTiles, columnTiles});
    const TilePosition first{at[0], kernel.mul(at[1], tile.rows), kernel.mul(at[2], tile.columns)};
    // Of both forms: words are as wide as elements of the type.
    Value shared[] = {OperandTiles::allocate(kernel, product, product.lhs, tile.rows),
                      OperandTiles::allocate(kernel, product, product.rhs, tile.columns)};
    auto emit = [&](TileForm form) { emitBlock(kernel, product, tile, shared, first, form); };
    if (newer.precision == MatmulPrecision::F32 && !OperandTiles::canCopy(kernel, product, product.lhs, newer) &&
        !OperandTiles::canCopy(kernel, product, product.rhs, newer))
      return emit(older);
    kernel.forArchitecture(
        kAmpere, [&] { emit(newer); }, [&] { emit(older); });
  });
}

} // namespace sluice::dataflow
