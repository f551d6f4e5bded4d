//===- Rows.h - Folding one row of elements ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_ROWS_H
#define SLUICE_DATAFLOW_EMIT_ROWS_H

#include "dialects/Dataflow/Emit/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace sluice::dataflow {

/// Folds `length` elements: first whole vectors, in turns, then their lanes, then the rest, in shorter vectors if the
/// step gives the length. In a grid, the elements go to the threads of a team in turns, and then the threads' results
/// are joined. The order depends only on the length and on the lanes or the team.
struct RowReducer {
  /// The order in long rows. Chunked: sums of chunks' sums, whose rounding error grows only with the length of chunks.
  /// Plain: one sum for each lane over the whole row.
  enum class Order { Chunked, Plain };

  KernelEmitter &kernel;
  Extent length;
  int64_t lanes; ///< 1 for scalars only.
  Order order = Order::Chunked;
  /// kChunk: vectors of a chunk. kLong: the least vectors of a row that is cut into chunks. kTurns: how many folds take
  /// turns.
  static constexpr int64_t kChunk = 256, kLong = 8 * kChunk, kTurns = 4;

  Extent whole() const { return lanes > 1 ? length / lanes * lanes : Extent(0); }

  mlir::Value run(mlir::Type scalar, llvm::function_ref<mlir::Value(mlir::Type)> initial,
                  llvm::function_ref<mlir::Value(mlir::Value, int64_t)> element,
                  llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join) const {
    if (kernel.teamThreads() > 1)
      // Teams of one warp share a block, so they also share its memory and barriers.
      return order == Order::Plain && lanes > 1 && kernel.teamThreads() > kWarpThreads
                 ? runTeamPlain(scalar, initial(scalar), element, join)
                 : runTeam(initial(scalar), element, join);
    mlir::Value acc;
    if (whole().most() > 0) {
      auto vector = mlir::VectorType::get({lanes}, scalar);
      auto take = [&](mlir::Value sum, mlir::Value i) { return join(sum, element(i, lanes)); };
      // Folds elements [from, to). Several folds take turns with [from, turned), so that none waits for the one before
      // it.
      auto fold = [&](mlir::Value from, mlir::Value turned, mlir::Value to) {
        using Values = llvm::SmallVector<mlir::Value>;
        Values sums(turned ? kTurns : 1, initial(vector));
        if (turned) {
          sums = kernel.reduce(from, turned, kTurns * lanes, sums, [&](mlir::Value i, mlir::ValueRange before) {
            Values next;
            for (int64_t turn = 0; turn < kTurns; ++turn)
              next.push_back(take(before[turn], kernel.add(i, kernel.index(turn * lanes))));
            return next;
          });
          for (int64_t count = kTurns; count > 1; count /= 2)
            for (int64_t turn = 0; turn < count / 2; ++turn)
              sums[turn] = join(sums[turn], sums[turn + count / 2]);
        }
        if (to)
          sums[0] =
              kernel.reduce(turned ? turned : from, to, lanes, sums[0],
                            [&](mlir::Value i, mlir::ValueRange before) { return Values{take(before[0], i)}; })[0];
        return sums[0];
      };
      // Turns are faster only from some number of vectors on.
      auto foldRange = [&](const Extent &from, const Extent &to) {
        const Extent length = to - from, turned = from + length / (kTurns * lanes) * (kTurns * lanes);
        const bool takesTurns = order == Order::Chunked && length.most() >= 2 * kTurns * lanes;
        return fold(kernel.index(from), takesTurns ? kernel.index(turned) : mlir::Value(),
                    takesTurns && turned == to ? mlir::Value() : kernel.index(to));
      };
      mlir::Value wide;
      const int64_t chunk = kChunk * lanes;
      const Extent chunked = whole() / chunk * chunk;
      if (order == Order::Plain || whole().most() < kLong * lanes) {
        wide = foldRange(0, whole());
      } else {
        wide = kernel.reduce(kernel.index(0), kernel.index(chunked), chunk, initial(vector),
                             [&](mlir::Value i, mlir::ValueRange sums) {
                               mlir::Value part = fold(i, kernel.add(i, kernel.index(chunk)), nullptr);
                               return llvm::SmallVector<mlir::Value>{join(sums[0], part)};
                             })[0];
        if (chunked != whole())
          wide = join(wide, foldRange(chunked, whole()));
      }
      acc = joinLanes(wide, join);
    } else {
      acc = initial(scalar);
    }
    if (whole() == length)
      return acc;
    if (hasPieces()) {
      forPieces([&](mlir::Value isThere, mlir::Value i, int64_t width) {
        acc = kernel.choose(
            isThere, [&] { return join(acc, joinLanes(element(i, width), join)); }, [&] { return acc; });
      });
      return acc;
    }
    return kernel.reduce(kernel.index(whole()), kernel.index(length), 1, acc,
                         [&](mlir::Value i, mlir::ValueRange sums) {
                           return llvm::SmallVector<mlir::Value>{join(sums[0], element(i, 1))};
                         })[0];
  }

  /// Calls fn(i, count) for all elements: runs of `lanes`, then one by one.
  void forEach(llvm::function_ref<void(mlir::Value, int64_t)> fn) const {
    if (kernel.teamThreads() > 1) {
      kernel.loop(0, rounds(), 1, [&](mlir::Value round) { fn(inRound(round), 1); });
      if (!left().is(0))
        kernel.ifThen(hasMore(), [&] { fn(inRound(kernel.index(rounds())), 1); });
      return;
    }
    if (whole().most() > 0)
      kernel.loop(0, whole(), lanes, [&](mlir::Value i) { fn(i, lanes); });
    if (hasPieces())
      return forPieces(
          [&](mlir::Value isThere, mlir::Value i, int64_t width) { kernel.ifThen(isThere, [&] { fn(i, width); }); });
    kernel.loop(whole(), length, 1, [&](mlir::Value i) { fn(i, 1); });
  }

private:
  /// Joins the lanes of a vector by halves, in log2(lanes) steps.
  mlir::Value joinLanes(mlir::Value wide, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join) const {
    mlir::OpBuilder &b = kernel.builder();
    mlir::Location loc = kernel.loc();
    auto type = mlir::dyn_cast<mlir::VectorType>(wide.getType());
    if (!type)
      return wide;
    for (int64_t width = type.getNumElements(); width > 1; width /= 2) {
      mlir::Value low = mlir::vector::ExtractStridedSliceOp::create(b, loc, wide, {0}, {width / 2}, {1});
      mlir::Value high = mlir::vector::ExtractStridedSliceOp::create(b, loc, wide, {width / 2}, {width / 2}, {1});
      wide = join(low, high);
    }
    return mlir::vector::ExtractOp::create(b, loc, wide, 0);
  }

  // Whether the elements after the whole vectors are folded in shorter vectors, which happens if the step gives the
  // length. One by one, up to 15 of them would take longer than the vectors of a short row.
  bool hasPieces() const { return lanes > 1 && !length.isConstant(); }
  void forPieces(llvm::function_ref<void(mlir::Value isThere, mlir::Value first, int64_t width)> fn) const {
    mlir::OpBuilder &b = kernel.builder();
    mlir::Location loc = kernel.loc();
    for (int64_t width = lanes / 2; width > 0; width /= 2) {
      mlir::Value bit = mlir::arith::AndIOp::create(b, loc, kernel.index(length), kernel.index(width));
      mlir::Value isThere = mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::ne, bit, kernel.index(0));
      fn(isThere, kernel.index(length / (2 * width) * (2 * width)), width);
    }
  }

  // The number of full rounds, in each of which every thread of a team takes one element.
  Extent rounds() const { return length / kernel.teamThreads(); }
  Extent left() const { return length % kernel.teamThreads(); }
  mlir::Value inRound(mlir::Value round) const {
    return kernel.add(kernel.mul(round, kernel.teamThreads()), kernel.teamPosition());
  }
  mlir::Value isBelow(mlir::Value x, const Extent &bound) const {
    return mlir::arith::CmpIOp::create(kernel.builder(), kernel.loc(), mlir::arith::CmpIPredicate::ult, x,
                                       kernel.index(bound));
  }
  mlir::Value hasMore() const { return isBelow(kernel.teamPosition(), left()); }
  mlir::Value runTeam(mlir::Value initial, llvm::function_ref<mlir::Value(mlir::Value, int64_t)> element,
                      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join) const {
    mlir::Value acc = kernel.reduce(kernel.index(0), kernel.index(rounds()), 1, initial,
                                    [&](mlir::Value round, mlir::ValueRange sums) {
                                      return llvm::SmallVector<mlir::Value>{join(sums[0], element(inRound(round), 1))};
                                    })[0];
    if (!left().is(0))
      acc = kernel.choose(
          hasMore(), [&] { return join(acc, element(inRound(kernel.index(rounds())), 1)); }, [&] { return acc; });
    return kernel.joinTeam(acc, join);
  }
  /// Folds in the order Plain, with the same bits as on a CPU: the first `lanes` threads of a team fold elements that
  /// all threads bring, tile by tile through shared memory. The next tile is read while one is folded.
  mlir::Value runTeamPlain(mlir::Type scalar, mlir::Value initial,
                           llvm::function_ref<mlir::Value(mlir::Value, int64_t)> element,
                           llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> join) const {
    constexpr int64_t kEach = 4, kUnroll = 16;
    using Values = llvm::SmallVector<mlir::Value>;
    mlir::OpBuilder &b = kernel.builder();
    mlir::Location loc = kernel.loc();
    const int64_t tile = kernel.teamThreads() * kEach;
    const Extent whole = length / tile * tile, rest = length % tile, folded = rest / lanes * lanes;
    mlir::Value shared = kernel.sharedBuffer(scalar, tile), partial = kernel.sharedBuffer(scalar, lanes);
    mlir::Value lane = kernel.teamPosition();
    auto inTile = [&](int64_t i) { return kernel.add(lane, kernel.index(i * kernel.teamThreads())); };
    // After the row's end, brings its last element, which no thread folds.
    auto bring = [&](mlir::Value first) {
      Values values;
      for (int64_t i = 0; i < kEach; ++i) {
        mlir::Value at = kernel.add(first, inTile(i)), isThere = isBelow(at, length);
        if (!length.isConstant() && mayBeZero(length)) {
          values.push_back(kernel.choose(
              isThere, [&] { return element(at, 1); }, [&] { return initial; }));
          continue;
        }
        at = mlir::arith::SelectOp::create(b, loc, isThere, at, kernel.index(length - 1));
        values.push_back(element(at, 1));
      }
      return values;
    };
    auto share = [&](mlir::ValueRange values) {
      for (int64_t i = 0; i < kEach; ++i)
        kernel.store(shared, scalar, inTile(i), values[i]);
      kernel.barrier();
    };
    auto fold = [&](mlir::Value acc, const Extent &count) {
      const Extent unrolled = count / (lanes * kUnroll) * (lanes * kUnroll);
      auto part = [&](mlir::Value from, const Extent &begin, const Extent &end, int64_t unroll) {
        return kernel.reduce(kernel.index(begin), kernel.index(end), lanes * unroll, from,
                             [&](mlir::Value i, mlir::ValueRange sums) {
                               mlir::Value sum = sums[0], at = kernel.add(i, lane);
                               for (int64_t u = 0; u < unroll; ++u)
                                 sum = join(sum, kernel.load(shared, scalar, kernel.add(at, kernel.index(u * lanes))));
                               return Values{sum};
                             })[0];
      };
      return kernel.choose(
          isBelow(lane, lanes),
          [&] {
            mlir::Value sum = part(acc, 0, unrolled, kUnroll);
            return unrolled == count ? sum : part(sum, unrolled, count, 1);
          },
          [&] { return acc; });
    };
    Values carried{initial};
    carried.append(bring(kernel.index(0)));
    carried = kernel.reduce(kernel.index(0), kernel.index(whole), tile, carried,
                            [&](mlir::Value first, mlir::ValueRange values) {
                              share(values.drop_front());
                              Values next = bring(kernel.add(first, kernel.index(tile)));
                              next.insert(next.begin(), fold(values[0], tile));
                              kernel.barrier();
                              return next;
                            });
    mlir::Value acc = carried[0];
    if (!rest.is(0)) {
      share(mlir::ValueRange(carried).drop_front());
      acc = fold(acc, folded);
    }
    kernel.ifThen(isBelow(lane, lanes), [&] { kernel.store(partial, scalar, lane, acc); });
    kernel.barrier();
    Values sums;
    for (int64_t i = 0; i < lanes; ++i)
      sums.push_back(kernel.load(partial, scalar, kernel.index(i)));
    for (int64_t width = lanes / 2; width > 0; width /= 2)
      for (int64_t i = 0; i < width; ++i)
        sums[i] = join(sums[i], sums[i + width]);
    if (!rest.isConstant())
      sums[0] = kernel.reduce(kernel.index(folded), kernel.index(rest), 1, sums[0],
                              [&](mlir::Value i, mlir::ValueRange before) {
                                return Values{join(before[0], kernel.load(shared, scalar, i))};
                              })[0];
    for (int64_t i = folded.most(); rest.isConstant() && i < rest.most(); ++i)
      sums[0] = join(sums[0], kernel.load(shared, scalar, kernel.index(i)));
    // No thread writes the buffers again before all have read them.
    kernel.barrier();
    return sums[0];
  }
};

/// The softmax of one row, or its logarithm. `read(i, count)` returns elements, and `write(i, count, value)` takes
/// results in order. Exponentials are kept in `buffer`, an array of the row's length of type `compute`; if it is null,
/// they are computed twice.
struct RowSoftmax {
  RowReducer row;
  mlir::Type compute;
  bool isLogarithm = false;
  mlir::Value buffer = {};

  void emit(llvm::function_ref<mlir::Value(mlir::Value, int64_t)> read,
            llvm::function_ref<void(mlir::Value, int64_t, mlir::Value)> write) const;
};

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_ROWS_H
