//===- ContractionIr.h - Building blocks of the contraction emitters ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Declarations that only the Contraction*.cpp files use.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONIR_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONIR_H

#include "dialects/Dataflow/Emit/Contraction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sluice::emit::detail {

using mlir::Location;
using mlir::OpBuilder;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;
/// Accumulators of a register tile: [row][vector].
using Accumulators = llvm::SmallVector<Value, 32>;

/// Where data is prefetched to, as LLVM numbers the levels.
enum class CacheLevel : int32_t { Second = 2, First = 3 };

/// Short names for i64 arithmetic, memory and loops at a builder's insertion point.
class Ir {
public:
  Ir(OpBuilder &b, Location loc, Type elementType) : b(b), loc(loc), elementType(elementType) {}

  Value constant(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value add(Value a, int64_t value) { return value ? add(a, constant(value)) : a; }
  Value mul(Value a, int64_t value) { return value == 1 ? a : mul(a, constant(value)); }
  /// The quotient of non-negative values, rounded down.
  Value div(Value a, int64_t value);
  Value div(Value a, Value by);
  Value rem(Value a, int64_t value);
  Value rem(Value a, Value by);
  Value min(Value a, Value b);
  Value max(Value a, Value b);
  Value isEqual(Value a, Value b);
  Value isLess(Value a, Value b, bool isSigned = true);
  /// Whether `a` has the bit of `value`, a power of two.
  Value hasBit(Value a, int64_t value);
  Value toIndex(Value value);
  Value fromIndex(Value value);

  /// The address `offset` elements of `type` (the accumulator's when null) after `pointer`.
  Value at(Value pointer, Value offset, Type type = nullptr);
  Value at(Value pointer, int64_t offset, Type type = nullptr);

  /// The accumulator type for `lanes` elements: a scalar if `lanes` is 1.
  Type vectorOf(int64_t lanes);
  Value zero(int64_t lanes);
  /// Zeros of another type than the accumulator's.
  Value zero(Type element, int64_t lanes);
  Value load(Value pointer, int64_t lanes);
  /// Loads without a conversion.
  Value load(Type element, Value pointer, int64_t lanes);
  void store(Value value, Value pointer);
  /// Loads through the source's hook, or widens if it has none.
  Value load(const Source &source, Value pointer, int64_t lanes);
  /// Copies `count` elements from `from` to `to` and widens them: whole vectors of `lanes`, then one by one.
  void widen(const Source &source, Value from, Value to, Value count, int64_t lanes);
  /// Does the same for a count known at compile time; the last vector may overlap the one before it.
  void widen(const Source &source, Value from, Value to, int64_t count, int64_t lanes);
  /// Prefetches the cache lines of `count` elements from `offset` on. They may lie past the end of allocated memory.
  void prefetch(Value pointer, int64_t offset, int64_t count, Type type, CacheLevel to = CacheLevel::First);
  Value broadcast(Value scalar, int64_t lanes);
  /// a * b + c, fused if the target can.
  Value multiplyAdd(Value a, Value b, Value c);

  /// for (i = from; i < to; i += step) values = body(i, values).
  using Body = llvm::function_ref<Accumulators(Value iv, ValueRange values)>;
  Accumulators loop(Value from, Value to, int64_t step, ValueRange values, Body body);
  void loop(Value from, Value to, int64_t step, llvm::function_ref<void(Value iv)> body);
  /// Emits body(first, width) for all of [0, count): whole vectors of `lanes`, then smaller powers of two.
  void forLanes(int64_t count, int64_t lanes, llvm::function_ref<void(Value first, int64_t width)> body);
  /// The same for a count known at run time only. `lanes` is a power of two.
  void forLanes(Value count, int64_t lanes, llvm::function_ref<void(Value first, int64_t width)> body);
  /// Calls `emit` with each number below `count`, to emit the code that runs if `value` is that number.
  void choose(Value value, int64_t count, llvm::function_ref<void(int64_t number)> emit);
  void ifElse(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);

  /// Scratch memory of the enclosing function, allocated once at its entry, aligned to 64 bytes.
  Value scratch(int64_t elements);

  OpBuilder &b;
  Location loc;
  Type elementType; ///< The type of the accumulators.
};

/// Adds `count` steps to `values`, `unroll` at a time. `step(i, u, values)` adds step i + u, where i is the loop's
/// value and u a constant. Long sums are cut: see sumLength.
using ReductionStep = llvm::function_ref<void(Value i, int64_t u, llvm::MutableArrayRef<Value> values)>;
Accumulators emitReduction(Ir &ir, int64_t count, int64_t unroll, Accumulators values, ReductionStep step);
/// The same for a count known at run time only: a multiple of `unroll`, at most `most`.
Accumulators emitReduction(Ir &ir, Value count, int64_t most, int64_t unroll, Accumulators values, ReductionStep step);
/// The same for any count.
Accumulators emitAnyReduction(Ir &ir, Value count, int64_t most, int64_t unroll, Accumulators values,
                              ReductionStep step);

/// This many steps are summed separately, then added to the sums so far. The rounding error of n terms grows with
/// sumLength + n / sumLength instead of n: Blanchard, Higham and Mary, "A class of fast and accurate summation
/// algorithms" (2020), section 2. Quantized models need it most: a small error of a sum may change how an activation
/// rounds, by a whole step. The length is divisible by every unrolling.
constexpr int64_t sumLength = 128;

/// How many of `count` steps to unroll for a tile of `accumulators` accumulators: all steps if they are few and small,
/// else enough to make the cost of the loop's own instructions negligible. More unrolling of larger tiles gains nothing
/// (measured), and more code takes longer to compile. If an engine unrolls the loop later (VectorTarget),
/// fewer steps are unrolled.
int64_t reductionUnroll(int64_t accumulators, int64_t count, bool isUnrolledLater);

/// Weights are prefetched this many steps ahead, because the hardware's own prefetching falls behind when other cores
/// use the shared caches too (1.2x on products of 1024, measured).
constexpr int64_t prefetchSteps = 16;
/// Data that is read once is prefetched so many bytes ahead, to the second level: to the first level it was slower on
/// Zen 4 (docs/rationale/block-weights.md).
constexpr int64_t kStreamedAhead = 6144;

/// A left-hand side that is narrower than the sums is widened once for all columns of a tile if it fits in this many
/// bytes of scratch, else at each read. For f16 that takes as many instructions as the products; for bf16 it is a
/// shift, which costs less than reading f32 from the second-level cache (measured).
inline int64_t widenedBytes(Type element) { return element.isF16() ? 262144 : 65536; }

/// How many partial sums take turns, at most four, because a single sum of a small tile would wait for the adder's
/// latency.
int64_t reductionChains(const RegisterTile &tile, int64_t count);

/// Calls the sink for one row of outputs: `valid` of them, in vectors of `lanes` and powers of two below.
/// `value(offset, lanes)` gives the accumulators at a constant offset; `last` is the index of the innermost dimension.
using RowValue = llvm::function_ref<Value(int64_t offset, int64_t lanes)>;
void sinkRow(Ir &ir, int64_t valid, int64_t lanes, RowValue value, ValueRange outer, Value last, SinkFn sink);

/// Calls `emit(valid)` for block `index` of `count`: once if all blocks have `whole` columns or there is one block,
/// else once for those before the last and once for the last, which has `last` columns.
void emitBlockWidths(Ir &ir, Value index, int64_t count, int64_t whole, int64_t last,
                     llvm::function_ref<void(int64_t valid)> emit);

/// Accumulators of one row -> RowValue: whole vectors, or their parts.
Value sliceRow(Ir &ir, llvm::ArrayRef<Value> row, int64_t vectorLanes, int64_t offset, int64_t lanes);

void emitPointwise(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands, WorkItems items,
                   SinkFn sink);
/// Emits any other convolution, by a register tile of columns and channels.
void emitDirect(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands, WorkItems items,
                SinkFn sink, const ConvExtents &extents = {});
void emitDepthwise(Ir &ir, const ConvSpec &spec, const VectorTarget &target, const Operands &operands, WorkItems items,
                   SinkFn sink, const ConvExtents &extents);

/// Output columns computed as `count` tiles of `columns` from `first` on. All have the same valid columns
/// [from[kw], to[kw]) for each tap, so that one copy of the code serves them.
struct ColumnRun {
  int64_t first = 0, count = 1, columns = 1;
  llvm::SmallVector<int64_t, 8> from, to;
  bool inside() const; ///< Whether every tap of every column reads the input.
};
/// Cuts the output columns into runs of tiles of `columns`. Where borders would take too much code, border columns are
/// left to a loop that clips the taps of one column at a time.
struct ColumnPlan {
  llvm::SmallVector<ColumnRun, 4> runs;
  int64_t leftEnd = 0, rightBegin = 0; ///< Columns [0, leftEnd) and [rightBegin, outW) go one at a time.
};
ColumnPlan planColumns(const ConvSpec &spec, int64_t columns);
/// insideTile(): a tile of columns whose taps all read the input. leftTile(): a tile from column 0 on, whose taps all
/// read the input or the padding on the left.
ColumnRun insideTile(const ConvSpec &spec, int64_t columns);
ColumnRun leftTile(const ConvSpec &spec, int64_t columns);
/// The columns [begin, end) whose taps all read the input, if the step gives the widths.
struct ColumnRange {
  Value begin, end;
};
ColumnRange insideColumns(Ir &ir, const ConvSpec &spec, Value inW, Value outW);

/// The taps [from, to) of a kernel dimension that read inside the input, if tap 0 reads at `start`.
std::pair<Value, Value> clipTaps(Ir &ir, Value start, int64_t taps, int64_t dilation, Value extent);

} // namespace sluice::emit::detail

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTIONIR_H
