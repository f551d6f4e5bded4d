//===- ProductTiles.cpp - Tiles of operands in shared memory --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ProductTiles.h"
#include "dialects/Dataflow/Elementwise/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace sluice::dataflow {

/// Threads read 8 rows of 4 words together along k: rows 4 banks apart. Across,
/// 4 rows of 8: rows 8 banks apart. Words of 16 bytes are at multiples of those.
int64_t OperandTiles::pitchOf(const ProductOperand &operand, int64_t extent) {
  return operand.alongK ? kTileDepth + 4 : extent + 8;
}

int64_t OperandTiles::wordsOf(const ProductOperand &operand, int64_t extent) {
  return (operand.alongK ? extent : kTileDepth) * pitchOf(operand, extent);
}

Value OperandTiles::allocate(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand,
                             int64_t extent) {
  return kernel.sharedBuffer(product.type, 2 * wordsOf(operand, extent));
}

static Type elementTypeOf(const ProductOperand &operand) {
  return cast<RankedTensorType>(operand.tensor.getType()).getElementType();
}

bool OperandTiles::canCopy(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand,
                           TileForm form) {
  if (!form.copies || operand.read || !kernel.isArgument(operand.tensor))
    return false;
  Type element = elementTypeOf(operand);
  switch (form.precision) {
  case MatmulPrecision::F32:
    return element == product.type && element.getIntOrFloatBitWidth() >= 32;
  case MatmulPrecision::TF32:
    return false; // They are rounded on the way.
  case MatmulPrecision::BF16:
    return element.isBF16() && operand.alongK && operand.run >= 2;
  case MatmulPrecision::F16:
    return element.isF16() && operand.alongK && operand.run >= 2;
  }
  llvm_unreachable("unknown precision");
}

OperandTiles::OperandTiles(KernelEmitter &kernel, const GridProduct &product, const ProductOperand &operand,
                           const TileSpan &span, TileForm form, Value shared, Value batch)
    : kernel(kernel), product(product), operand(operand), bound(span.bound), extent(span.extent),
      precision(form.precision), isCopied(canCopy(kernel, product, operand, form)), shared(shared), batch(batch),
      first(span.first), perWord(elementsOfWord(precision)),
      run(!operand.read && kernel.isArgument(operand.tensor) ? operand.run : 1) {
  OpBuilder &b = kernel.builder();
  constexpr int64_t kMostBytes = 16;
  wordType = precision == MatmulPrecision::F32 ? product.type : b.getI32Type();
  int64_t together = std::max<int64_t>(1, operand.alongK ? run / perWord : run);
  unit = std::min({together, kMostBytes / elementBytes(wordType), extent / kTileSide, kChunk});
  int64_t inner = (operand.alongK ? kTileDepth : extent) / unit;
  Value thread = kernel.threadIndex();
  low = kernel.mul(arith::RemUIOp::create(b, kernel.loc(), thread, kernel.index(inner)), unit);
  high = arith::DivUIOp::create(b, kernel.loc(), thread, kernel.index(inner));
  step = kTileThreads / inner;
}

std::pair<Value, Value> OperandTiles::place(int64_t i) const {
  Value moved = kernel.add(high, kernel.index(i * step));
  return operand.alongK ? std::pair(moved, low) : std::pair(low, moved);
}

Value OperandTiles::indexOf(Value stage, Value along, Value depth) const {
  int64_t pitch = pitchOf(operand, extent);
  Value within =
      operand.alongK ? kernel.add(kernel.mul(along, pitch), depth) : kernel.add(kernel.mul(depth, pitch), along);
  return kernel.add(kernel.mul(stage, wordsOf(operand, extent)), within);
}

OperandTiles::Read OperandTiles::locate(Value along, Value k, int64_t count) const {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Read read;
  auto join = [&](Value condition) {
    read.inside = read.inside ? arith::AndIOp::create(b, loc, read.inside, condition).getResult() : condition;
  };
  // Outside of the matrix, its last elements are read, and not used.
  auto clamp = [&](Value x, const Extent &limit, bool isRun) -> Value {
    const Extent last = isRun ? (limit - 1) / count * count : limit - 1;
    Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, kernel.index(limit));
    join(in);
    return arith::SelectOp::create(b, loc, in, x, kernel.index(last));
  };
  along = kernel.add(first, along);
  if (!isMultipleOf(bound, extent))
    along = clamp(along, bound, !operand.alongK);
  k = clamp(k, product.k, operand.alongK);
  read.along = along;
  read.k = k;
  if (operand.read)
    return read;
  read.place = operand.locate(batch, along, k);
  if (read.place.inside)
    join(read.place.inside);
  return read;
}

Value OperandTiles::read(Value along, Value k, int64_t count) const {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Read where = locate(along, k, count);
  auto readThere = [&]() -> Value {
    if (operand.read)
      return operand.read(batch, where.along, where.k);
    if (count == 1)
      return kernel.element(operand.tensor, where.place.at);
    Type element = elementTypeOf(operand);
    Value linear = kernel.linearize(where.place.at, kernel.extents(operand.tensor));
    return emitLoad(b, loc, kernel.address(kernel.pointer(operand.tensor), element, linear), element, count,
                    /*whole=*/true);
  };
  // A matrix without columns has no element that could be read in vain.
  if (!product.k.isConstant() && mayBeZero(product.k)) {
    Type type = count == 1 ? product.type : Type(VectorType::get({count}, product.type));
    return kernel.choose(where.inside, readThere, [&] { return emitConstant(b, loc, type, 0); });
  }
  Value value = readThere();
  return arith::SelectOp::create(b, loc, where.inside, value, emitConstant(b, loc, value.getType(), 0));
}

void OperandTiles::copy(Value along, Value depth, Value k, Value stage) const {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
  constexpr int64_t kWholeBytes = 16;
  Type element = elementTypeOf(operand);
  Read where = locate(along, k, unit * perWord);
  Value from = kernel.address(kernel.pointer(operand.tensor), element,
                              kernel.linearize(where.place.at, kernel.extents(operand.tensor)));
  Value to = kernel.address(shared, wordType, indexOf(stage, along, depth));
  auto inSpace = [&](Value pointer, unsigned space) {
    return LLVM::AddrSpaceCastOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), space), pointer);
  };
  int64_t bytes = unit * elementBytes(wordType);
  auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
  // What is not read is zero. Only whole lines pass the first cache by.
  Value valid = arith::SelectOp::create(b, loc, where.inside, number(bytes), number(0));
  NVVM::CpAsyncOp::create(b, loc, inSpace(to, kSharedSpace), inSpace(from, kGlobalSpace), static_cast<uint32_t>(bytes),
                          bytes == kWholeBytes ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA,
                          valid);
}

int64_t OperandTiles::numValues() const {
  if (isCopied)
    return 0;
  // Rows of a word, or elements that do not lie together.
  bool inParts = !operand.alongK || run < perWord;
  return numUnits() * (inParts ? perWord : 1);
}

SmallVector<Value> OperandTiles::begin(Value k, Value stage) const {
  SmallVector<Value> values;
  for (int64_t i = 0; i < numUnits(); ++i) {
    auto [along, depth] = place(i);
    Value at = kernel.add(k, kernel.mul(depth, perWord));
    if (isCopied) {
      copy(along, depth, at, stage);
    } else if (operand.alongK && run >= perWord) {
      values.push_back(read(along, at, unit * perWord));
    } else {
      for (int64_t part = 0; part < perWord; ++part)
        values.push_back(read(along, kernel.add(at, kernel.index(part)), unit));
    }
  }
  return values;
}

Value OperandTiles::pack(ValueRange values) const {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  if (precision == MatmulPrecision::F32)
    return values[0];
  auto lane = [&](Value value, int64_t i) -> Value {
    return isa<VectorType>(value.getType()) ? vector::ExtractOp::create(b, loc, value, i).getResult() : value;
  };
  SmallVector<Value> words;
  for (int64_t i = 0; i < unit; ++i) {
    if (precision == MatmulPrecision::TF32) {
      words.push_back(
          NVVM::ConvertFloatToTF32Op::create(b, loc, b.getI32Type(), lane(values[0], i), NVVM::FPRoundingMode::RNA));
      continue;
    }
    Value even = values.size() == 1 ? lane(values[0], 2 * i) : lane(values[0], i);
    Value odd = values.size() == 1 ? lane(values[0], 2 * i + 1) : lane(values[1], i);
    // The first of the two operands is the upper half.
    auto convert = [&]<typename Op>(Type half) -> Value {
      return Op::create(b, loc, VectorType::get(2, half), odd, even, /*random_bits=*/Value(), NVVM::FPRoundingMode::RN);
    };
    Value pair = precision == MatmulPrecision::BF16
                     ? convert.template operator()<NVVM::ConvertF32x2ToBF16x2Op>(b.getBF16Type())
                     : convert.template operator()<NVVM::ConvertF32x2ToF16x2Op>(b.getF16Type());
    words.push_back(LLVM::BitcastOp::create(b, loc, b.getI32Type(), pair));
  }
  return unit == 1 ? words[0]
                   : vector::FromElementsOp::create(b, loc, VectorType::get(unit, wordType), words).getResult();
}

void OperandTiles::finish(ValueRange values, Value stage) const {
  int64_t each = numValues() / numUnits();
  for (int64_t i = 0; !isCopied && i < numUnits(); ++i) {
    auto [along, depth] = place(i);
    emitStore(kernel.builder(), kernel.loc(), kernel.address(shared, wordType, indexOf(stage, along, depth)), wordType,
              pack(values.slice(i * each, each)), /*whole=*/true);
  }
}

Value OperandTiles::positionOf(KernelEmitter &kernel, int64_t chunk, Value side, Value i) {
  SmallVector<Value> at = kernel.delinearize(i, {kTileSide, chunk});
  return kernel.add(kernel.mul(side, chunk), kernel.add(kernel.mul(at[0], kTileSide * chunk), at[1]));
}

SmallVector<SmallVector<Value>> OperandTiles::columns(Value stage, Value depth, Value side) const {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  SmallVector<SmallVector<Value>> all(kChunk);
  auto read = [&](Value along, Value k, int64_t count) {
    return emitLoad(b, loc, kernel.address(shared, wordType, indexOf(stage, along, k)), wordType, count,
                    /*whole=*/true);
  };
  auto lane = [&](Value value, int64_t count, int64_t i) -> Value {
    return count == 1 ? value : vector::ExtractOp::create(b, loc, value, i).getResult();
  };
  int64_t together = chunk();
  for (int64_t i = 0; i < extent / kTileSide; i += together) {
    Value along = positionOf(kernel, together, side, kernel.index(i));
    if (operand.alongK) {
      Value values = read(along, depth, kChunk);
      for (int64_t k = 0; k < kChunk; ++k)
        all[k].push_back(lane(values, kChunk, k));
      continue;
    }
    for (int64_t k = 0; k < kChunk; ++k) {
      Value values = read(along, kernel.add(depth, kernel.index(k)), together);
      for (int64_t j = 0; j < together; ++j)
        all[k].push_back(lane(values, together, j));
    }
  }
  return all;
}

Value OperandTiles::word(Value stage, Value along, Value depth) const {
  return emitLoad(kernel.builder(), kernel.loc(), kernel.address(shared, wordType, indexOf(stage, along, depth)),
                  wordType, 1);
}

void emitCommitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs) {
  if (lhs.copies() || rhs.copies())
    NVVM::CpAsyncCommitGroupOp::create(kernel.builder(), kernel.loc());
}

void emitAwaitCopies(KernelEmitter &kernel, const OperandTiles &lhs, const OperandTiles &rhs) {
  if (lhs.copies() || rhs.copies())
    NVVM::CpAsyncWaitGroupOp::create(kernel.builder(), kernel.loc(), 0);
}

} // namespace sluice::dataflow
