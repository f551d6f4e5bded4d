//===- BlockProduct.cpp - Products by weights in blocks -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/BlockProductIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <bit>

using namespace mlir;

namespace sluice::emit {
using namespace detail;

/// Bits of a float's mantissa.
static constexpr int64_t kMantissa = 23;

/// The product of many rows, as emitMatmul's.
static MatmulSpec describeMany(const BlockSpec &spec) {
  MatmulSpec matmul;
  matmul.m = spec.rows;
  matmul.n = spec.panels.n;
  matmul.k = matmul.lda = spec.panels.k;
  matmul.depthStep = kBlockStep;
  matmul.sinkStyle = spec.sinkStyle;
  return matmul;
}

int64_t blockPanel(int64_t columns, const VectorTarget &target) { return chooseTile(1, columns, 32, target).block(); }

int64_t fewBlockRows(const VectorTarget &target) { return target.registers >= 32 ? 4 : 2; }

int64_t blockRowBlock(const BlockSpec &spec, const VectorTarget &target) {
  if (spec.isRounded)
    return byteRowBlock(spec, target);
  return spec.rows <= fewBlockRows(target) ? std::max<int64_t>(spec.rows, 1)
                                           : chooseBlocking(describeMany(spec), target).rowBlock;
}

Value detail::BlockReader::word(uint32_t value) {
  const auto bits = ir.b.getIntegerAttr(ir.b.getI32Type(), llvm::APInt(32, value));
  return arith::ConstantOp::create(
      ir.b, ir.loc,
      lanes == 1 ? TypedAttr(bits) : DenseElementsAttr::get(cast<ShapedType>(vector(ir.b.getI32Type())), bits));
}

PanelRow detail::BlockReader::loadScales(Value block) {
  PanelRow scales;
  Type f32 = ir.b.getF32Type();
  for (int64_t v = 0; v < tile.vectors; ++v) {
    Value scale = loadUnaligned(ir.at(block, v * lanes * panels.scaleBytes, byte()), operands.scaleType);
    scales.push_back(operands.scaleType == f32 ? scale : arith::ExtFOp::create(ir.b, ir.loc, vector(f32), scale));
  }
  return scales;
}

PanelRow detail::BlockReader::loadZeros(Value block) {
  PanelRow zeros;
  Type f32 = ir.b.getF32Type();
  for (int64_t v = 0; panels.zeros != BlockZeros::None && v < tile.vectors; ++v) {
    Value at = ir.at(block, panels.zerosAt() + v * lanes * panels.zeroBytes(), byte());
    if (panels.zeros == BlockZeros::Floats) {
      zeros.push_back(loadUnaligned(at, f32));
      continue;
    }
    Value wide = arith::ExtUIOp::create(ir.b, ir.loc, vector(ir.b.getI32Type()), loadUnaligned(at, byte()));
    zeros.push_back(arith::SIToFPOp::create(ir.b, ir.loc, vector(f32), wide));
  }
  return zeros;
}

PanelRow detail::BlockReader::loadWords(Value words, bool anew) {
  PanelRow bits;
  for (int64_t v = 0; v < tile.vectors; ++v) {
    bits.push_back(loadUnaligned(ir.at(words, v * lanes * 4, byte()), ir.b.getI32Type()));
    if (anew)
      bits.back().getDefiningOp<LLVM::LoadOp>().setVolatile_(true);
  }
  return bits;
}

void detail::BlockReader::emitSink(Value panel, Value firstRow, int64_t rows, ValueRange sums, Value scratch) {
  Value column = ir.mul(panel, panels.panel);
  const int64_t last = panels.n - (panels.numPanels() - 1) * panels.panel;
  const SmallVector<Value> all(sums);
  for (auto [at, sum] : llvm::enumerate(all))
    if (isLooped(rows))
      ir.store(sum, ir.at(scratch, static_cast<int64_t>(at) * lanes));
  emitBlockWidths(ir, panel, panels.numPanels(), panels.panel, last, [&](int64_t valid) {
    if (!isLooped(rows))
      return sinkRow(
          ir, valid, lanes, [&](int64_t offset, int64_t width) { return sliceRow(ir, all, lanes, offset, width); },
          {firstRow}, column, sink);
    ir.loop(ir.constant(0), ir.constant(rows), 1, [&](Value row) {
      Value from = ir.at(scratch, ir.mul(row, panels.panel));
      sinkRow(
          ir, valid, lanes, [&](int64_t offset, int64_t width) { return ir.load(ir.at(from, offset), width); },
          {ir.add(firstRow, row)}, column, sink);
    });
  });
}

namespace {

class BlockEmitter : BlockReader {
public:
  using BlockReader::BlockReader;

  void emit(Value begin, Value end);

private:
  /// Numbers of a block that all its words need, one a vector of columns.
  struct Head {
    PanelRow scales, zeros;
    /// What a field at that place of a word is less: the power of two, and the zero point where it is a whole number.
    /// By place, then by vector.
    SmallVector<PanelRow, 12> offsets;
  };

  /// The places of a word that are masked without a shift: their fields end within the mantissa.
  int64_t places() const { return std::min(kMantissa / panels.bits, panels.rowsOfWord()); }
  static double powerAt(int64_t bit) { return static_cast<double>(int64_t(1) << (kMantissa - bit)); }
  Value number(double value) {
    return arith::ConstantOp::create(ir.b, ir.loc,
                                     lanes == 1 ? TypedAttr(ir.b.getF32FloatAttr(static_cast<float>(value)))
                                                : DenseElementsAttr::get(cast<ShapedType>(vector(ir.b.getF32Type())),
                                                                         ArrayRef(static_cast<float>(value))));
  }
  Head loadHead(Value block);
  /// The first `fields` elements of the words of each vector at `words`: `use(field, weights)` gets those of one row of
  /// the weight, less their zero points.
  void unpackWords(const Head &head, Value words, int64_t fields,
                   llvm::function_ref<void(int64_t field, ArrayRef<Value> weights)> use);

  void emitFew(Value begin, Value end, int64_t rows);
  void emitMany(Value begin, Value end);
  void readPanel(Value panel, Value depthBegin, Value depth, Value to);
  /// Adds the products of `count` rows of a block.
  Accumulators addBlock(Value block, Value left, int64_t count, int64_t rows, ValueRange sums);

  Source lhs; ///< What emitFew reads.
};

} // namespace

BlockEmitter::Head BlockEmitter::loadHead(Value block) {
  Head head{loadScales(block), loadZeros(block), {}};
  for (int64_t place = 0; place < places(); ++place) {
    PanelRow &row = head.offsets.emplace_back();
    const double power = powerAt(place * panels.bits);
    for (int64_t v = 0; v < tile.vectors; ++v)
      // Whole numbers below 2^9 are added to these powers without rounding.
      row.push_back(panels.zeros == BlockZeros::None
                        ? number(power + static_cast<double>(int64_t(1) << (panels.bits - 1)))
                    : panels.zeros == BlockZeros::Bytes
                        ? arith::AddFOp::create(ir.b, ir.loc, head.zeros[v], number(power)).getResult()
                        : number(power));
  }
  return head;
}

void BlockEmitter::unpackWords(const Head &head, Value words, int64_t fields,
                               function_ref<void(int64_t, ArrayRef<Value>)> use) {
  const PanelRow bits = loadWords(words);
  PanelRow shifted = bits;
  const auto mask = static_cast<uint32_t>((int64_t(1) << panels.bits) - 1);
  for (int64_t field = 0, first = 0; field < fields; ++field) {
    if (field - first == places()) {
      first = field;
      for (int64_t v = 0; v < tile.vectors; ++v)
        shifted[v] = arith::ShRUIOp::create(ir.b, ir.loc, bits[v], word(static_cast<uint32_t>(first * panels.bits)));
    }
    const int64_t place = field - first, bit = place * panels.bits;
    PanelRow weights;
    for (int64_t v = 0; v < tile.vectors; ++v) {
      Value masked = arith::AndIOp::create(ir.b, ir.loc, shifted[v], word(mask << bit));
      const auto exponent = std::bit_cast<uint32_t>(static_cast<float>(powerAt(bit)));
      Value joined = arith::OrIOp::create(ir.b, ir.loc, masked, word(exponent));
      Value value = arith::BitcastOp::create(ir.b, ir.loc, vector(ir.b.getF32Type()), joined);
      value = arith::SubFOp::create(ir.b, ir.loc, value, head.offsets[place][v]);
      if (panels.zeros == BlockZeros::Floats)
        value = arith::SubFOp::create(ir.b, ir.loc, value, head.zeros[v]);
      weights.push_back(value);
    }
    use(field, weights);
  }
}

Accumulators BlockEmitter::addBlock(Value block, Value left, int64_t count, int64_t rows, ValueRange sums) {
  const Head head = loadHead(block);
  const int64_t perWord = panels.rowsOfWord(), accumulators = rows * tile.vectors;
  // As many sums take turns as hide the adder's latency.
  const int64_t chains = accumulators <= 2 ? 4 : accumulators <= 4 ? 2 : 1;
  Value words = ir.at(block, panels.wordsAt(), byte());
  auto step = [&](Value number, int64_t beyond, int64_t fields, MutableArrayRef<Value> values) {
    Value at = ir.at(words, ir.mul(ir.add(number, beyond), panels.panel * 4), byte());
    Value from = ir.at(left, ir.mul(ir.add(number, beyond), perWord), lhs.elementType);
    unpackWords(head, at, fields, [&](int64_t field, ArrayRef<Value> weights) {
      for (int64_t r = 0; r < rows; ++r) {
        Value scalar = ir.load(lhs, ir.at(from, r * panels.k + field, lhs.elementType), 1);
        Value wide = ir.broadcast(scalar, lanes);
        for (int64_t v = 0; v < tile.vectors; ++v) {
          Value &sum = values[(field % chains * rows + r) * tile.vectors + v];
          sum = ir.multiplyAdd(wide, weights[v], sum);
        }
      }
    });
  };
  Accumulators values(chains * accumulators, ir.zero(lanes));
  constexpr int64_t kUnroll = 4;
  const int64_t whole = count / perWord, looped = whole > kUnroll ? whole / kUnroll * kUnroll : 0;
  Value zero = ir.constant(0);
  if (looped)
    values = ir.loop(zero, ir.constant(looped), kUnroll, values, [&](Value number, ValueRange carried) {
      Accumulators next(carried);
      for (int64_t u = 0; u < kUnroll; ++u)
        step(number, u, perWord, next);
      return next;
    });
  for (int64_t number = looped; number < whole; ++number)
    step(zero, number, perWord, values);
  if (count % perWord)
    step(zero, whole, count % perWord, values);
  Accumulators next(sums);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      const int64_t at = r * tile.vectors + v;
      Value sum = values[at];
      for (int64_t chain = 1; chain < chains; ++chain)
        sum = arith::AddFOp::create(ir.b, ir.loc, sum, values[chain * accumulators + at]);
      next[at] = ir.multiplyAdd(sum, head.scales[v], sums[at]);
    }
  return next;
}

void BlockEmitter::emitFew(Value begin, Value end, int64_t rows) {
  constexpr int64_t kMostWidened = 65536; // Elements.
  lhs = operands.lhs;
  // Every panel reads all of A.
  if (lhs.elementType != ir.elementType && rows * panels.k <= kMostWidened) {
    Value widened = ir.scratch(rows * panels.k);
    ir.widen(lhs, lhs.pointer, widened, rows * panels.k, target.lanesF32);
    lhs = {widened, ir.elementType};
  }
  const int64_t whole = panels.k / panels.block, rest = panels.k % panels.block;
  Value scratch = isLooped(rows) ? ir.scratch(rows * panels.panel) : Value();
  ir.loop(begin, end, 1, [&](Value item) {
    Value panel = panelAt(item);
    Accumulators sums(rows * tile.vectors, ir.zero(lanes));
    auto add = [&](Value number, int64_t count, ValueRange carried) {
      return addBlock(blockAt(panel, number), ir.at(lhs.pointer, ir.mul(number, panels.block), lhs.elementType), count,
                      rows, carried);
    };
    if (whole)
      sums = ir.loop(ir.constant(0), ir.constant(whole), 1, sums,
                     [&](Value number, ValueRange carried) { return add(number, panels.block, carried); });
    if (rest)
      sums = add(ir.constant(whole), rest, sums);
    emitSink(item, ir.constant(0), rows, sums, scratch);
  });
}

void BlockEmitter::readPanel(Value panel, Value depthBegin, Value depth, Value to) {
  const int64_t perWord = panels.rowsOfWord();
  Value base = panelAt(panel);
  ir.loop(ir.constant(0), depth, perWord, [&](Value row) {
    Value k = ir.add(depthBegin, row);
    Value block = blockAt(base, ir.div(k, panels.block));
    const Head head = loadHead(block);
    Value number = ir.div(ir.rem(k, panels.block), perWord);
    Value words = ir.at(ir.at(block, panels.wordsAt(), byte()), ir.mul(number, panels.panel * 4), byte());
    Value target = ir.at(to, ir.mul(row, panels.panel));
    unpackWords(head, words, perWord, [&](int64_t field, ArrayRef<Value> weights) {
      for (int64_t v = 0; v < tile.vectors; ++v)
        ir.store(arith::MulFOp::create(ir.b, ir.loc, weights[v], head.scales[v]),
                 ir.at(target, field * panels.panel + v * lanes));
    });
  });
}

void BlockEmitter::emitMany(Value begin, Value end) {
  MatmulOperands matmul{operands.lhs, {operands.packed, byte()}, {}};
  matmul.extents.m = operands.rows;
  matmul.readPanel = [this](OpBuilder &, Location, Value panel, Value depthBegin, Value depth, Value to) {
    readPanel(panel, depthBegin, depth, to);
  };
  emitMatmul(ir.b, ir.loc, describeMany(spec), target, matmul, {begin, end}, sink);
}

void BlockEmitter::emit(Value begin, Value end) {
  const int64_t few = fewBlockRows(target);
  if (!operands.rows)
    return spec.rows <= few ? emitFew(begin, end, spec.rows) : emitMany(begin, end);
  // A step of a language model has one row, or many.
  const int64_t own = spec.rows <= few ? spec.rows : 1;
  ir.choose(operands.rows, own + 1, [&](int64_t rows) {
    if (rows > 0)
      emitFew(begin, end, rows);
    else if (spec.rows > few)
      emitMany(begin, end);
  });
}

void emitBlockProduct(OpBuilder &b, Location loc, const BlockSpec &spec, const VectorTarget &target,
                      const BlockOperands &operands, WorkItems items, SinkFn sink) {
  Ir ir(b, loc, b.getF32Type());
  const WorkItems from{ir.fromIndex(items.begin), ir.fromIndex(items.end)};
  if (spec.isRounded)
    return emitByteBlocks(ir, spec, target, operands, from, sink);
  BlockEmitter(ir, spec, target, operands, sink).emit(from.begin, from.end);
}

} // namespace sluice::emit
