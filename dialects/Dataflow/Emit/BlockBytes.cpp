//===- BlockBytes.cpp - Products of rounded rows by weights in blocks -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/BlockProductIr.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"
#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace sluice::emit {
using namespace detail;

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

static Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(vector.clone(element)) : element;
}

static Value numberOf(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
}

BlockRounding emitBlockRounding(OpBuilder &b, Location loc, Value mostBits) {
  constexpr double kMostByte = 127;
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(i32, value));
  };
  Value most = arith::BitcastOp::create(b, loc, f32, mostBits), infinity = numberOf(b, loc, HUGE_VAL);
  auto isFinite = [&](Value value) {
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, value, infinity);
  };
  // The quotient is infinite for zeros and for a few numbers near them.
  Value factor = arith::DivFOp::create(b, loc, numberOf(b, loc, kMostByte), most);
  factor = arith::SelectOp::create(b, loc, isFinite(factor), factor, numberOf(b, loc, 0));
  return {arith::DivFOp::create(b, loc, most, numberOf(b, loc, kMostByte)), factor,
          arith::SelectOp::create(b, loc, isFinite(most), integer(-1), integer(0))};
}

Value emitRounded(OpBuilder &b, Location loc, Value elements, const BlockRounding &rounding) {
  Type floats = elements.getType(), integers = withElement(floats, b.getI32Type());
  auto spread = [&](Value scalar) -> Value {
    auto vector = dyn_cast<VectorType>(withElement(floats, scalar.getType()));
    return vector ? vector::BroadcastOp::create(b, loc, vector, scalar).getResult() : scalar;
  };
  Value bits = arith::BitcastOp::create(b, loc, integers, elements);
  bits = arith::AndIOp::create(b, loc, bits, spread(rounding.mask));
  Value scaled = arith::MulFOp::create(b, loc, arith::BitcastOp::create(b, loc, floats, bits), spread(rounding.factor));
  return arith::FPToSIOp::create(b, loc, integers, math::RoundEvenOp::create(b, loc, scaled));
}

namespace {

/// Rounds sixteen elements at a time, which fill whole words for any number of bits.
class RowRounder {
public:
  RowRounder(Ir &ir, const RoundedRows &rows, const Source &from) : ir(ir), rows(rows), from(from) {}

  void emit(Value begin, Value end, Value to);

private:
  VectorType vector(Type element) { return VectorType::get({kBlockStep}, element); }
  Value zeros(Type element) { return arith::ConstantOp::create(ir.b, ir.loc, ir.b.getZeroAttr(vector(element))); }
  /// The elements at `pointer`, zeros behind the first `count`.
  Value load(Value pointer, int64_t count);
  /// Calls `step(first, count, values)` for the elements of a block, sixteen from `first` on of which `count` exist.
  using Step = llvm::function_ref<Value(Value first, int64_t count, Value value)>;
  Value fold(int64_t count, Value value, Step step);
  void emitBlock(Value pointer, Value to, int64_t count);

  Ir &ir;
  const RoundedRows &rows;
  const Source &from;
};

} // namespace

Value RowRounder::load(Value pointer, int64_t count) {
  if (count == kBlockStep)
    return ir.load(from, pointer, kBlockStep);
  Value all = zeros(ir.b.getF32Type());
  for (int64_t i = 0; i < count; ++i)
    all = vector::InsertOp::create(ir.b, ir.loc, ir.load(from, ir.at(pointer, i, from.elementType), 1), all, i);
  return all;
}

Value RowRounder::fold(int64_t count, Value value, Step step) {
  const int64_t whole = count / kBlockStep * kBlockStep;
  if (whole)
    value = ir.loop(ir.constant(0), ir.constant(whole), kBlockStep, ValueRange(value),
                    [&](Value first, ValueRange all) { return Accumulators{step(first, kBlockStep, all[0])}; })[0];
  return count == whole ? value : step(ir.constant(whole), count - whole, value);
}

void RowRounder::emitBlock(Value pointer, Value to, int64_t count) {
  OpBuilder &b = ir.b;
  Location loc = ir.loc;
  Type i32 = b.getI32Type(), i8 = b.getI8Type();
  auto read = [&](Value first, int64_t valid) { return load(ir.at(pointer, first, from.elementType), valid); };
  // Of floats without their sign the order is that of their bits, with infinities and then NaNs above all.
  Value most = fold(count, zeros(i32), [&](Value first, int64_t valid, Value value) -> Value {
    Value bits = arith::BitcastOp::create(b, loc, vector(i32), math::AbsFOp::create(b, loc, read(first, valid)));
    return arith::MaxUIOp::create(b, loc, value, bits);
  });
  most = vector::ReductionOp::create(b, loc, vector::CombiningKind::MAXUI, most);
  const BlockRounding rounding = emitBlockRounding(b, loc, most);
  SmallVector<int64_t> order(kBlockStep);
  const int64_t perWord = 32 / rows.bits;
  for (int64_t i = 0; i < kBlockStep; ++i)
    order[i / perWord * perWord + rows.placeOf(i % perWord)] = i;
  Value bytes = ir.at(to, RoundedRows::kBytesAt, i8);
  auto write = [&](Value values, Value first) {
    LLVM::StoreOp::create(b, loc, values, ir.at(bytes, first, i8), /*alignment=*/1);
  };
  Value sum = fold(count, zeros(i32), [&](Value first, int64_t valid, Value value) -> Value {
    Value rounded = emitRounded(b, loc, read(first, valid), rounding);
    Value narrow = arith::TruncIOp::create(b, loc, vector(i8), rounded);
    write(vector::ShuffleOp::create(b, loc, narrow, narrow, order), first);
    return arith::SubIOp::create(b, loc, value, rounded);
  });
  const int64_t written = (count + kBlockStep - 1) / kBlockStep * kBlockStep;
  if (written < rows.block)
    ir.loop(ir.constant(written), ir.constant(rows.block), kBlockStep, [&](Value first) { write(zeros(i8), first); });
  LLVM::StoreOp::create(b, loc, rounding.scale, to, /*alignment=*/4);
  sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sum);
  LLVM::StoreOp::create(b, loc, sum, ir.at(to, RoundedRows::kSumAt, i8), /*alignment=*/4);
}

void RowRounder::emit(Value begin, Value end, Value to) {
  Type byte = ir.b.getI8Type();
  const int64_t whole = rows.k / rows.block, rest = rows.k % rows.block;
  ir.loop(begin, end, 1, [&](Value row) {
    Value pointer = ir.at(from.pointer, ir.mul(row, rows.k), from.elementType);
    Value target = ir.at(to, ir.mul(row, rows.rowBytes()), byte);
    auto emitAt = [&](Value number, int64_t count) {
      emitBlock(ir.at(pointer, ir.mul(number, rows.block), from.elementType),
                ir.at(target, ir.mul(number, rows.blockBytes()), byte), count);
    };
    if (whole)
      ir.loop(ir.constant(0), ir.constant(whole), 1, [&](Value number) { emitAt(number, rows.block); });
    if (rest)
      emitAt(ir.constant(whole), rest);
  });
}

void emitRoundedRows(OpBuilder &b, Location loc, const RoundedRows &rows, const Source &from, Value to,
                     WorkItems items) {
  Ir ir(b, loc, b.getF32Type());
  RowRounder(ir, rows, from).emit(ir.fromIndex(items.begin), ir.fromIndex(items.end), to);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool multipliesBytes(const BlockPanels &panels, const VectorTarget &target) {
  // There are no instructions for fewer columns than a vector of bytes holds. TargetSpec::roundedBits names the widths.
  if (chooseTile(1, panels.n, 32, target).lanes < 4 || target.byteProducts < IntegerDot::Pairs)
    return false;
  const bool hasQuads = target.byteProducts >= IntegerDot::Quads;
  switch (target.bytes) {
  case ByteInstructions::X86:
    // Pairs are added in 16 bits, which those of elements of 8 bits exceed.
    return hasQuads || (panels.bits <= 4 && chooseTile(1, panels.n, 32, target).lanes >= 8);
  case ByteInstructions::Neon:
    // The instruction takes elements with a sign.
    return hasQuads && panels.bits <= 4;
  case ByteInstructions::NeonMixed:
    return hasQuads;
  case ByteInstructions::Portable:
    return false;
  }
  return false;
}

/// The rows of a register tile. For each of its rows the tile has the integer sums of a block and the sums of floats.
static int64_t byteTileRows(int64_t rows, const RegisterTile &tile, const VectorTarget &target) {
  const int64_t most = std::max<int64_t>((target.registers >= 32 ? 12 : 8) / tile.vectors, 1);
  const int64_t tiles = (rows + most - 1) / most;
  return std::max<int64_t>((rows + tiles - 1) / std::max<int64_t>(tiles, 1), 1);
}

int64_t detail::byteRowBlock(const BlockSpec &spec, const VectorTarget &target) {
  const int64_t tile = byteTileRows(spec.rows, chooseTile(1, spec.panels.n, 32, target), target);
  // A panel is read once for so many rows, and for fewer rows where there would be too few work items.
  constexpr int64_t kLeast = 48, kMost = 144, kItems = 32;
  const int64_t rows = std::clamp(spec.rows * spec.panels.numPanels() / kItems, kLeast, kMost);
  return (std::min(rows, spec.rows) + tile - 1) / tile * tile;
}

namespace {

class ByteEmitter : BlockReader {
public:
  ByteEmitter(Ir &ir, const BlockSpec &spec, const VectorTarget &target, const BlockOperands &operands, SinkFn sink)
      : BlockReader(ir, spec, target, operands, sink), rounded(panels.roundedRows()),
        hasQuads(target.byteProducts >= IntegerDot::Quads), tileRows(byteTileRows(spec.rows, tile, target)) {}

  void emit(Value begin, Value end);

private:
  Type wide() { return ir.b.getI32Type(); }
  Value integers(int64_t value) { return word(static_cast<uint32_t>(value)); }
  Value loadScalar(Value pointer, Type type) {
    return LLVM::LoadOp::create(ir.b, ir.loc, type, pointer, /*alignment=*/4);
  }
  Value spread(Value scalar) {
    return lanes == 1 ? scalar : vector::BroadcastOp::create(ir.b, ir.loc, vector(scalar.getType()), scalar);
  }
  /// Vectors of 32 bits as those of bytes or of pairs of bytes.
  Value narrow(Value value, int64_t bits) {
    Type type = VectorType::get({lanes * 32 / bits}, ir.b.getIntegerType(static_cast<unsigned>(bits)));
    return vector::BitCastOp::create(ir.b, ir.loc, type, value);
  }
  Value call(StringRef name, Type type, ValueRange arguments) {
    return LLVM::CallIntrinsicOp::create(ir.b, ir.loc, type, ir.b.getStringAttr(name), arguments)->getResult(0);
  }
  Value sumPairs(Value weights, Value bytes);
  Value sumQuads(Value sums, Value weights, Value bytes);

  /// Adds the products of `count` words of a block, the first of which is number `first`.
  Accumulators addWords(Value words, Value left, Value first, int64_t count, int64_t rows, ValueRange sums);
  Accumulators addBlock(Value block, Value left, int64_t rows, ValueRange sums);
  void emitTile(Value panel, Value firstRow, int64_t rows);

  RoundedRows rounded;
  bool hasQuads;
  int64_t tileRows;
  Value scratch;
};

} // namespace

/// Products of pairs of bytes, unsigned and signed, in 16 bits.
Value ByteEmitter::sumPairs(Value weights, Value bytes) {
  const StringRef name = lanes == 16 ? "llvm.x86.avx512.pmaddubs.w.512" : "llvm.x86.avx2.pmadd.ub.sw";
  return call(name, VectorType::get({2 * lanes}, ir.b.getI16Type()), {narrow(weights, 8), narrow(bytes, 8)});
}

Value ByteEmitter::sumQuads(Value sums, Value weights, Value bytes) {
  // Elements of up to 4 bits have no sign bit.
  if (target.bytes != ByteInstructions::X86 && panels.bits <= 4)
    return call("llvm.aarch64.neon.sdot.v4i32.v16i8", sums.getType(), {sums, narrow(bytes, 8), narrow(weights, 8)});
  return emitIntegerDot(ir.b, ir.loc, target.bytes, IntegerDot::Quads, sums, narrow(weights, 8), narrow(bytes, 8));
}

Accumulators ByteEmitter::addWords(Value words, Value left, Value first, int64_t count, int64_t rows, ValueRange sums) {
  Accumulators next(sums), pairs(sums.size());
  const int64_t perWord = panels.rowsOfWord(), fields = 8 / panels.bits;
  const auto mask = static_cast<uint32_t>(((int64_t(1) << panels.bits) - 1) * 0x01010101);
  for (int64_t i = 0; i < count; ++i) {
    Value number = ir.add(first, i);
    Value stored = ir.at(words, ir.mul(number, panels.panel * 4), byte());
    PanelRow bits = loadWords(stored);
    Value from = ir.at(left, ir.mul(number, perWord), byte());
    for (int64_t field = 0; field < fields; ++field) {
      PanelRow weights;
      if (rows == 1 && field == 1 && target.bytes == ByteInstructions::X86)
        bits = loadWords(stored, /*anew=*/true);
      for (Value value : bits) {
        if (field > 0)
          value = arith::ShRUIOp::create(ir.b, ir.loc, value, integers(field * panels.bits));
        weights.push_back(panels.bits == 8 ? value
                                           : arith::AndIOp::create(ir.b, ir.loc, value, word(mask)).getResult());
      }
      for (int64_t r = 0; r < rows; ++r) {
        Value bytes = spread(loadScalar(ir.at(from, r * rounded.rowBytes() + field * 4, byte()), wide()));
        for (int64_t v = 0; v < tile.vectors; ++v) {
          const int64_t at = r * tile.vectors + v;
          if (hasQuads) {
            next[at] = sumQuads(next[at], weights[v], bytes);
            continue;
          }
          Value pair = sumPairs(weights[v], bytes);
          pairs[at] = pairs[at] ? arith::AddIOp::create(ir.b, ir.loc, pairs[at], pair).getResult() : pair;
        }
      }
    }
  }
  if (hasQuads)
    return next;
  const StringRef name = lanes == 16 ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  Value ones = narrow(word(0x00010001), 16);
  for (auto [sum, pair] : llvm::zip_equal(next, pairs))
    sum = arith::AddIOp::create(ir.b, ir.loc, sum, call(name, vector(wide()), {pair, ones}));
  return next;
}

Accumulators ByteEmitter::addBlock(Value block, Value left, int64_t rows, ValueRange sums) {
  // A single row reads weights as fast as memory gives them. The hardware prefetches well, if each line is loaded twice
  // (addWords; measured), but not across pages: one line of a block a page ahead is enough.
  constexpr int64_t kPage = 4096;
  if (rows == 1)
    ir.prefetch(block, kPage, 1, byte(), CacheLevel::Second);
  const PanelRow scales = loadScales(block), zeros = loadZeros(block);
  auto headOf = [&](int64_t row, int64_t at, Type type) {
    return spread(loadScalar(ir.at(left, row * rounded.rowBytes() + at, byte()), type));
  };
  // Sums start with the zero point times the sum of the row's bytes, which is stored with the opposite sign.
  Accumulators values(rows * tile.vectors, integers(0));
  if (panels.zeros == BlockZeros::None)
    for (int64_t r = 0; r < rows; ++r) {
      Value less =
          arith::ShLIOp::create(ir.b, ir.loc, headOf(r, RoundedRows::kSumAt, wide()), integers(panels.bits - 1));
      std::fill_n(values.begin() + r * tile.vectors, tile.vectors, less);
    }
  // 16 bits hold the sum of eight pairs of products of 15 and 127, and of more pairs where elements have 2 bits.
  const int64_t all = panels.block / panels.rowsOfWord(), together = std::min<int64_t>(all, panels.bits == 2 ? 8 : 4);
  Value words = ir.at(block, panels.wordsAt(), byte()), bytes = ir.at(left, RoundedRows::kBytesAt, byte());
  const int64_t looped = all > 2 * together ? all / together * together : 0;
  if (looped)
    values = ir.loop(ir.constant(0), ir.constant(looped), together, values, [&](Value first, ValueRange carried) {
      return addWords(words, bytes, first, together, rows, carried);
    });
  for (int64_t first = looped; first < all; first += together)
    values = addWords(words, bytes, ir.constant(first), std::min(together, all - first), rows, values);
  Accumulators next(sums);
  Type floats = vector(ir.b.getF32Type());
  for (int64_t r = 0; r < rows; ++r) {
    Value scale = headOf(r, 0, ir.b.getF32Type()), less;
    if (!zeros.empty())
      less = arith::SIToFPOp::create(ir.b, ir.loc, floats, headOf(r, RoundedRows::kSumAt, wide()));
    for (int64_t v = 0; v < tile.vectors; ++v) {
      const int64_t at = r * tile.vectors + v;
      Value sum = arith::SIToFPOp::create(ir.b, ir.loc, floats, values[at]);
      if (less)
        sum = ir.multiplyAdd(zeros[v], less, sum);
      next[at] = ir.multiplyAdd(sum, arith::MulFOp::create(ir.b, ir.loc, scale, scales[v]), next[at]);
    }
  }
  return next;
}

void ByteEmitter::emitTile(Value panel, Value firstRow, int64_t rows) {
  Value base = panelAt(panel), left = ir.at(operands.lhs.pointer, ir.mul(firstRow, rounded.rowBytes()), byte());
  Accumulators sums(rows * tile.vectors, ir.zero(lanes));
  sums = ir.loop(ir.constant(0), ir.constant(panels.blocks()), 1, sums, [&](Value number, ValueRange carried) {
    Value from = ir.at(left, ir.mul(number, rounded.blockBytes()), byte());
    return addBlock(blockAt(base, number), from, rows, carried);
  });
  emitSink(panel, firstRow, rows, sums, scratch);
}

void ByteEmitter::emit(Value begin, Value end) {
  if (isLooped(tileRows))
    scratch = ir.scratch(tileRows * panels.panel);
  const int64_t rowBlock = byteRowBlock(spec, target);
  Value allRows = operands.rows ? operands.rows : ir.constant(spec.rows);
  ir.loop(begin, end, 1, [&](Value item) {
    Value panel = ir.rem(item, panels.numPanels());
    Value first = ir.mul(ir.div(item, panels.numPanels()), rowBlock);
    Value last = ir.min(ir.add(first, rowBlock), allRows);
    Value count = ir.sub(last, first);
    Value whole = ir.sub(last, ir.rem(count, tileRows));
    ir.loop(first, whole, tileRows, [&](Value row) { emitTile(panel, row, tileRows); });
    if (operands.rows)
      return ir.loop(whole, last, 1, [&](Value row) { emitTile(panel, row, 1); });
    if (const int64_t rest = spec.rows % rowBlock % tileRows)
      ir.ifElse(ir.isLess(whole, last), [&] { emitTile(panel, whole, rest); });
  });
}

void detail::emitByteBlocks(Ir &ir, const BlockSpec &spec, const VectorTarget &target, const BlockOperands &operands,
                            WorkItems items, SinkFn sink) {
  ByteEmitter(ir, spec, target, operands, sink).emit(items.begin, items.end);
}

} // namespace sluice::emit
