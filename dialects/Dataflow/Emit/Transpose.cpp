//===- Transpose.cpp - Transpositions by tiles ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Shuffles.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace sluice::dataflow {

namespace {
// Of a grid's tiles, which are in shared memory.
constexpr int64_t kTile = kWarpThreads, kRowsAtOnce = 8;
/// One element more than a tile's side: a column's elements are in as many banks.
constexpr int64_t kPitch = kTile + 1;
/// Below this much of a tile's side, threads that are left over cost more than reading strided.
constexpr int64_t kLeastSide = kTile / 2;

/// The result's dimensions that become a tile's sides: `read` ends in the one along
/// which the input's elements lie together, `written` in the result's last. Each
/// begins where the input's order leaves the result's.
struct TileSides {
  size_t readFrom, readTo, writtenFrom, writtenTo; ///< [from, to)

  /// The result's extents and the permutation, with either side as one dimension, of which `read` is number `readAt`.
  struct Merged {
    Extents shape;
    SmallVector<int64_t> permutation;
    size_t readAt;
  };
  Merged merge(ArrayRef<Extent> extents, ArrayRef<int64_t> permutation) const {
    Merged merged;
    SmallVector<int64_t> sources;
    for (size_t d = 0; d < extents.size(); ++d)
      if ((d > readFrom && d < readTo) || d > writtenFrom) {
        merged.shape.back() = merged.shape.back() * extents[d];
      } else {
        if (d == readFrom)
          merged.readAt = merged.shape.size();
        merged.shape.push_back(extents[d]);
        sources.push_back(permutation[d]);
      }
    for (int64_t source : sources)
      merged.permutation.push_back(llvm::count_if(sources, [&](int64_t other) { return other < source; }));
    return merged;
  }
};
} // namespace

/// Of a tile in registers.
static int64_t registerSide(KernelEmitter &kernel, Type element) {
  const int64_t lanes = kernel.target().lanesF32;
  return computeType(element).getIntOrFloatBitWidth() > 32 ? lanes / 2 : lanes;
}

/// None where elements lie together along the same dimension in both, or along few; sides are as long as at the upper
/// bounds of symbols. Registers have vectors of the operands of `root`, which is an element-wise function of the
/// transposition: their runs are of one dimension, unless the kernel copies alone.
static std::optional<TileSides> tileSides(KernelEmitter &kernel, TransposeOp op, Value root) {
  ArrayRef<int64_t> permutation = op.getPermutation(), shape = op.getType().getShape();
  Type element = op.getType().getElementType();
  const size_t rank = shape.size();
  if (rank < 2 || elementCount(op.getType()) == 0 || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() < 8)
    return std::nullopt;
  const auto read = static_cast<size_t>(llvm::find(permutation, static_cast<int64_t>(rank) - 1) - permutation.begin());
  if (read + 1 == rank)
    return std::nullopt;
  const int64_t least = kernel.inGrids() ? kLeastSide : registerSide(kernel, element);
  if (least < 4 || (!kernel.inGrids() && !kernel.isVectorizable(op.getInput())))
    return std::nullopt;
  TileSides sides{read, read + 1, rank - 1, rank};
  auto follows = [&](size_t d) { return permutation[d] == permutation[d - 1] + 1; };
  if (kernel.inGrids() || (root == op.getResult() && kernel.isArgument(op.getInput()))) {
    while (sides.readFrom > 0 && follows(sides.readFrom))
      --sides.readFrom;
    while (sides.writtenFrom > sides.readTo && follows(sides.writtenFrom))
      --sides.writtenFrom;
  }
  auto isLong = [&](size_t from, size_t to) { return product(shape.slice(from, to - from)) >= least; };
  if (!isLong(sides.readFrom, sides.readTo) || !isLong(sides.writtenFrom, sides.writtenTo))
    return std::nullopt;
  return sides;
}

TransposeOp KernelEmitter::tiledTranspose(Value root) {
  TransposeOp found;
  SmallVector<Value> pending{root};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = isArgument(value) ? nullptr : value.getDefiningOp();
    if (!op || isa<ConstantOp>(op) || op == found)
      continue;
    if (auto transpose = dyn_cast<TransposeOp>(op);
        transpose && !found && extentsOf(value) == extentsOf(root) && tileSides(*this, transpose, root)) {
      found = transpose;
      continue;
    }
    // Whatever else is read at the same place as the result.
    if (!isa<ElementwiseOpInterface>(op))
      return {};
    llvm::append_range(pending, op->getOperands());
  }
  return found;
}

void KernelEmitter::emitGridTranspose(unsigned result, Value value, TransposeOp transpose) {
  const Extents extents = extentsOf(value);
  ArrayRef<Extent> shape = extents;
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  const TileSides sides = *tileSides(*this, transpose, value);
  const ExtentList read = shape.slice(sides.readFrom, sides.readTo - sides.readFrom),
                   written = shape.slice(sides.writtenFrom, sides.writtenTo - sides.writtenFrom);
  const Extent readExtent = productOf(read), writtenExtent = productOf(written);
  // What is left, and then which tile.
  Extents blocks(shape.take_front(sides.readFrom));
  llvm::append_range(blocks, shape.slice(sides.readTo, sides.writtenFrom - sides.readTo));
  const size_t numOuter = blocks.size();
  for (const Extent &extent : {readExtent, writtenExtent})
    blocks.push_back(extent.ceilDiv(kTile));
  Type stored = cast<RankedTensorType>(transpose.getType()).getElementType(), type = computeType(stored);

  grid(productOf(blocks), kTile * kRowsAtOnce, [&] {
    SmallVector<Value> block = delinearize(blockIndex(), blocks);
    SmallVector<Value> thread = delinearize(threadIndex(), {kRowsAtOnce, kTile});
    Value firstRead = mul(block[numOuter], kTile), firstWritten = mul(block[numOuter + 1], kTile);
    Value buffer = sharedBuffer(type, kTile * kPitch);
    auto isWithin = [&](Value i, const Extent &extent) -> Value {
      return isMultipleOf(extent, kTile)
                 ? Value()
                 : Value(arith::CmpIOp::create(b, location, arith::CmpIPredicate::ult, i, index(extent)));
    };
    auto placeOf = [&](Value readAt, Value writtenAt) {
      SmallVector<Value> at(ArrayRef<Value>(block).take_front(sides.readFrom));
      llvm::append_range(at, delinearize(readAt, read));
      llvm::append_range(at, ArrayRef<Value>(block).slice(sides.readFrom, numOuter - sides.readFrom));
      llvm::append_range(at, delinearize(writtenAt, written));
      return at;
    };
    // All are on their way before the first is put down; what is outside is read at the edge.
    SmallVector<Value> values;
    for (int64_t row = 0; row < kTile; row += kRowsAtOnce) {
      Value readAt = add(firstRead, thread[1]), writtenAt = add(firstWritten, add(thread[0], index(row)));
      for (auto [at, extent] : {std::pair(&readAt, readExtent), {&writtenAt, writtenExtent}})
        if (!isMultipleOf(extent, kTile))
          *at = arith::MinUIOp::create(b, location, *at, index(extent - 1));
      SmallVector<Value> place = placeOf(readAt, writtenAt), from(place.size());
      for (auto [d, source] : llvm::enumerate(permutation))
        from[source] = place[d];
      values.push_back(element(transpose.getInput(), from));
    }
    for (auto [i, each] : llvm::enumerate(values))
      emitStore(b, location,
                address(buffer, type,
                        add(mul(add(thread[0], index(static_cast<int64_t>(i) * kRowsAtOnce)), kPitch), thread[1])),
                type, each, /*whole=*/false);
    barrier();
    for (int64_t row = 0; row < kTile; row += kRowsAtOnce) {
      Value inTile = add(thread[0], index(row));
      Value readAt = add(firstRead, inTile), writtenAt = add(firstWritten, thread[1]);
      auto put = [&] {
        memo.clear();
        SmallVector<Value> at = placeOf(readAt, writtenAt);
        Value own = emitLoad(b, location, address(buffer, type, add(mul(thread[1], kPitch), inTile)), type, 1, false);
        bound[transpose.getResult()] = {own, at, 1};
        store(pointers[numOperands + result], argumentElement[numOperands + result], linearize(at, shape),
              elements(value, at, 1));
        bound.clear();
        memo.clear();
      };
      Value isInside = isWithin(readAt, readExtent), isRight = isWithin(writtenAt, writtenExtent);
      if (isInside && isRight)
        isInside = arith::AndIOp::create(b, location, isInside, isRight);
      else if (isRight)
        isInside = isRight;
      isInside ? ifThen(isInside, put) : put();
    }
  });
}

void KernelEmitter::emitChunkTranspose(unsigned result, Value value, TransposeOp transpose) {
  Value input = transpose.getInput();
  const auto inputElement = cast<RankedTensorType>(input.getType()).getElementType();
  const TileSides::Merged merged =
      tileSides(*this, transpose, value)->merge(extentsOf(value), transpose.getPermutation());
  const size_t readAt = merged.readAt, writtenAt = merged.shape.size() - 1;
  const Extent read = merged.shape[readAt], written = merged.shape[writtenAt];
  const int64_t side = registerSide(*this, inputElement);
  Extents inputShape(merged.shape);
  for (auto [d, source] : llvm::enumerate(merged.permutation))
    inputShape[source] = merged.shape[d];
  // A kernel that copies alone may write elements twice: the last tiles overlap those before them.
  const bool isCopy = value == transpose.getResult();
  auto overlaps = [&](const Extent &extent) { return isCopy && extent.isConstant(); };
  Extents items(ArrayRef<Extent>(merged.shape).drop_back());
  items[readAt] = read.ceilDiv(side);

  auto readRun = [&](ArrayRef<Value> at, int64_t lanes) {
    SmallVector<Value> from(at.size());
    for (auto [d, source] : llvm::enumerate(merged.permutation))
      from[source] = at[d];
    return isArgument(input) ? load(pointer(input), inputElement, linearize(from, inputShape), lanes)
                             : elements(input, from, lanes);
  };
  auto write = [&](ArrayRef<Value> at, Value run, int64_t lanes) {
    bound[transpose.getResult()] = {run, SmallVector<Value>(at), lanes};
    store(pointers[numOperands + result], argumentElement[numOperands + result], linearize(at, merged.shape),
          elements(value, at, lanes));
    bound.clear();
    memo.clear();
  };
  SmallVector<Value> at;
  auto copyTile = [&](Value firstRead, Value firstWritten) {
    SmallVector<Value, 16> rows;
    at[readAt] = firstRead;
    for (int64_t i = 0; i < side; ++i) {
      at[writtenAt] = add(firstWritten, index(i));
      rows.push_back(readRun(at, side));
    }
    memo.clear();
    at[writtenAt] = firstWritten;
    for (auto [i, row] : llvm::enumerate(emit::transposeSquare(b, location, std::move(rows)))) {
      at[readAt] = add(firstRead, index(static_cast<int64_t>(i)));
      write(at, row, side);
    }
  };
  auto copyElements = [&](Value fromRead, Value toRead, Value fromWritten) {
    loop(fromRead, toRead, 1, [&](Value r) {
      loop(fromWritten, index(written), 1, [&](Value w) {
        at[readAt] = r;
        at[writtenAt] = w;
        write(at, readRun(at, 1), 1);
      });
    });
  };
  auto copySquares = [&](Value first) {
    loop(0, written / side * side, side, [&](Value w) { copyTile(first, w); });
    if (isMultipleOf(written, side))
      return;
    if (overlaps(written))
      copyTile(first, index(written - side));
    else
      copyElements(first, add(first, index(side)), index(written / side * side));
  };
  auto copyRows = [&](Value first) {
    if (!isCopy || written.isConstant())
      return copySquares(first);
    // Of one element, rows lie one after the other in both.
    auto ifOne = [&](arith::CmpIPredicate predicate, function_ref<void()> body) {
      ifThen(arith::CmpIOp::create(b, location, predicate, index(written), index(1)), body);
    };
    ifOne(arith::CmpIPredicate::eq, [&] {
      at[readAt] = first;
      at[writtenAt] = index(0);
      write(at, readRun(at, side), side);
    });
    ifOne(arith::CmpIPredicate::ne, [&] { copySquares(first); });
  };
  auto copyItem = [&](ArrayRef<Value> item) {
    at.assign(item.begin(), item.end());
    at.push_back(nullptr);
    Value first = mul(item[readAt], side);
    if (isMultipleOf(read, side))
      return copyRows(first);
    if (overlaps(read))
      return copyRows(arith::MinUIOp::create(b, location, first, index(read - side)));
    auto ifLast = [&](arith::CmpIPredicate predicate, function_ref<void()> body) {
      ifThen(arith::CmpIOp::create(b, location, predicate, add(first, index(side)), index(read)), body);
    };
    ifLast(arith::CmpIPredicate::ule, [&] { copyRows(first); });
    ifLast(arith::CmpIPredicate::ugt, [&] { copyElements(first, index(read), index(0)); });
  };
  parallel(productOf(items), loopWork(result, Count(productOf(merged.shape).most()), side),
           [&](Value begin, Value end) { loopItems(begin, end, items, copyItem); });
}

} // namespace sluice::dataflow
