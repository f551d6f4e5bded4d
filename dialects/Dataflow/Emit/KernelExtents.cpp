//===- KernelExtents.cpp - Kernels of extents that a step gives -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The entry of a kernel computes each expression of symbols once. Loops then use these values where kernels with
// constant extents use constants. The entry of a grid's kernel runs on the host, and passes the values to the threads
// as arguments.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace sluice::dataflow {

SymbolsAttr symbolsOfKernel(Operation *op) {
  if (SymbolsAttr symbols = symbolsOf(op))
    return symbols;
  SymbolsAttr found;
  op->walk([&](ExtentsOp member) { found = member.getSymbols(); });
  return found;
}

//===----------------------------------------------------------------------===//
// Values of expressions
//===----------------------------------------------------------------------===//

KernelEmitter::ExtentValues KernelEmitter::loadSymbols(OpBuilder &builder, Value address) {
  ExtentValues in;
  Type i64 = b.getI64Type();
  for (size_t i = 0; i < symbols.size(); ++i) {
    Value at = LLVM::GEPOp::create(builder, location, address.getType(), i64, address,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    Value loaded = LLVM::LoadOp::create(builder, location, i64, at);
    auto cast = arith::IndexCastOp::create(builder, location, b.getIndexType(), loaded);
    in.symbols.push_back(cast);
    in.last = cast;
  }
  return in;
}

void KernelEmitter::setSymbol(uint64_t symbol, Value value) {
  Value at = LLVM::GEPOp::create(entryBuilder, location, symbolsAddress.getType(), b.getI64Type(), symbolsAddress,
                                 ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(symbol)});
  LLVM::StoreOp::create(entryBuilder, location, value, at);
}

/// `a` divided by `by`, rounded down, and what is left, for a divisor above 0.
static Value dividedDown(OpBuilder &b, Location loc, Value a, Value by, std::optional<int64_t> constant) {
  if (constant && llvm::isPowerOf2_64(*constant))
    return arith::ShRSIOp::create(
        b, loc, a, arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(llvm::Log2_64(*constant))));
  return arith::FloorDivSIOp::create(b, loc, a, by);
}

/// Tells LLVM the bounds of a symbol's value, and the powers of two that divide it: loops then run at least once, and
/// indices do not overflow.
static Operation *assumeBounds(OpBuilder &builder, Location loc, Value value, SymbolsAttr symbols, unsigned symbol) {
  const int64_t least = symbols.getLeast()[symbol], most = symbols.getMost()[symbol];
  auto number = [&](int64_t of) -> Value { return arith::ConstantIndexOp::create(builder, loc, of); };
  auto assume = [&](arith::CmpIPredicate predicate, Value of, int64_t bound) {
    Value other = number(bound);
    Value holds = arith::CmpIOp::create(builder, loc, predicate, of, other);
    return LLVM::AssumeOp::create(builder, loc, holds);
  };
  (void)assume(arith::CmpIPredicate::sge, value, least);
  Operation *last = assume(arith::CmpIPredicate::sle, value, most);
  const auto common = std::gcd(least, symbols.getSteps()[symbol]);
  if (const int64_t power = common & -common; power > 1) {
    Value mask = number(power - 1);
    Value low = arith::AndIOp::create(builder, loc, value, mask);
    last = assume(arith::CmpIPredicate::eq, low, 0);
  }
  return last;
}

Value KernelEmitter::valueOf(AffineExpr expression, ExtentValues &in) {
  if (Value known = in.values.lookup(expression))
    return known;
  OpBuilder builder(b.getContext());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    const unsigned position = symbol.getPosition();
    // A symbol that is found has any value until it is.
    if (!symbols.isFound(position)) {
      builder.setInsertionPointAfter(in.last);
      in.last = assumeBounds(builder, location, in.symbols[position], symbols, position);
    }
    return in.values[expression] = in.symbols[position];
  }
  auto emit = [&](auto op) -> Value {
    in.last = op.getOperation();
    return op;
  };
  auto here = [&]() -> OpBuilder & {
    builder.setInsertionPointAfter(in.last);
    return builder;
  };
  Value value;
  if (auto number = dyn_cast<AffineConstantExpr>(expression)) {
    value = emit(arith::ConstantIndexOp::create(here(), location, number.getValue()));
  } else {
    auto both = cast<AffineBinaryOpExpr>(expression);
    Value x = valueOf(both.getLHS(), in), y = valueOf(both.getRHS(), in);
    constexpr auto kNoOverflow = arith::IntegerOverflowFlags::nsw;
    std::optional<int64_t> constant;
    if (auto number = dyn_cast<AffineConstantExpr>(both.getRHS()))
      constant = number.getValue();
    auto quotient = [&](Value of) {
      Value result = dividedDown(here(), location, of, y, constant);
      in.last = result.getDefiningOp();
      return result;
    };
    auto difference = [&](Value a, Value c) {
      return emit(arith::SubIOp::create(here(), location, a, c, kNoOverflow));
    };
    switch (expression.getKind()) {
    case AffineExprKind::Add:
      value = emit(arith::AddIOp::create(here(), location, x, y, kNoOverflow));
      break;
    case AffineExprKind::Mul:
      value = emit(arith::MulIOp::create(here(), location, x, y, kNoOverflow));
      break;
    case AffineExprKind::FloorDiv:
      value = quotient(x);
      break;
    case AffineExprKind::CeilDiv: {
      Value zero = emit(arith::ConstantIndexOp::create(here(), location, 0));
      value = difference(zero, quotient(difference(zero, x)));
      break;
    }
    case AffineExprKind::Mod:
      value = difference(x, emit(arith::MulIOp::create(here(), location, quotient(x), y, kNoOverflow)));
      break;
    default:
      llvm_unreachable("extents are expressions of symbols");
    }
  }
  return in.values[expression] = value;
}

Value KernelEmitter::gridArgument(AffineExpr expression) {
  Value &known = bodyExtents.values[expression];
  if (known)
    return known;
  const unsigned number = chunkBody.getNumArguments();
  (void)chunkBody.insertArgument(number, b.getI64Type(), {}, location);
  gridWords.push_back(expression);
  OpBuilder start = OpBuilder::atBlockBegin(&chunkBody.getFunctionBody().front());
  return known = arith::IndexCastOp::create(start, location, b.getIndexType(), chunkBody.getArgument(number));
}

Value KernelEmitter::index(const Extent &extent) {
  if (extent.isConstant())
    return index(extent.most());
  return inGrids() ? gridArgument(extent.expr()) : valueOf(extent.expr(), bodyExtents);
}

Value KernelEmitter::divisor(const Extent &extent) {
  Value value = index(extent);
  if (extent.isConstant() || !mayBeZero(extent))
    return value;
  Value &known = bodyExtents.divisors[extent.expr()];
  if (known)
    return known;
  OpBuilder builder(b.getContext());
  builder.setInsertionPointAfter(inGrids() ? value.getDefiningOp() : bodyExtents.last);
  Value one = arith::ConstantIndexOp::create(builder, location, 1);
  auto least = arith::MaxSIOp::create(builder, location, value, one);
  if (!inGrids())
    bodyExtents.last = least;
  return known = least;
}

Value KernelEmitter::number(Type type, const Extent &extent) {
  if (extent.isConstant())
    return constant(type, static_cast<double>(extent.most()));
  Type scalar = getElementTypeOrSelf(type);
  Value value =
      arith::IndexCastOp::create(b, location, isa<FloatType>(scalar) ? b.getI64Type() : scalar, index(extent));
  if (isa<FloatType>(scalar))
    value = arith::SIToFPOp::create(b, location, scalar, value);
  return isa<VectorType>(type) ? vector::BroadcastOp::create(b, location, type, value).getResult() : value;
}

Value KernelEmitter::entryExtent(const Extent &extent) {
  if (extent.isConstant())
    return arith::ConstantIntOp::create(entryBuilder, location, extent.most(), 64);
  return arith::IndexCastOp::create(entryBuilder, location, b.getI64Type(), valueOf(extent.expr(), entryExtents));
}

Value KernelEmitter::chunkArguments() {
  Value args = kernel.getBody().front().getArgument(1);
  if (!symbols)
    return args;
  if (chunkContext)
    return chunkContext;
  auto ptr = LLVM::LLVMPointerType::get(b.getContext());
  OpBuilder builder(b.getContext());
  builder.setInsertionPointAfter(entryExtents.last);
  Value two = arith::ConstantIntOp::create(builder, location, 2, 64);
  chunkContext = LLVM::AllocaOp::create(builder, location, ptr, ptr, two);
  LLVM::StoreOp::create(builder, location, args, chunkContext);
  Value second = LLVM::GEPOp::create(builder, location, ptr, ptr, chunkContext,
                                     ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(kContextSymbols)});
  LLVM::StoreOp::create(builder, location, symbolsAddress, second);
  return chunkContext;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelEmitter::mul(Value a, const Extent &c) {
  if (c.isConstant())
    return mul(a, c.most());
  if (auto constant = a.getDefiningOp<arith::ConstantIndexOp>(); constant && constant.value() <= 1)
    return constant.value() == 0 ? a : index(c);
  return arith::MulIOp::create(b, location, a, index(c), arith::IntegerOverflowFlags::nsw);
}

void KernelEmitter::noteSplit(Value linear, ArrayRef<Value> digits, ArrayRef<Extent> extents) {
  auto isConstant = [](const Extent &extent) { return extent.isConstant(); };
  if (llvm::all_of(extents, isConstant))
    return;
  while (extents.front().is(1)) {
    extents = extents.drop_front();
    digits = digits.drop_front();
  }
  while (extents.back().is(1)) {
    extents = extents.drop_back();
    digits = digits.drop_back();
  }
  splits[digits.back()] = {linear, SmallVector<Value>(digits), Extents(extents)};
}

const KernelEmitter::Split *KernelEmitter::splitEndingAt(size_t last, ValueRange indices,
                                                         ArrayRef<Extent> extents) const {
  auto found = splits.find(indices[last]);
  if (found == splits.end())
    return nullptr;
  const Split &split = found->second;
  const size_t count = split.digits.size();
  if (count > last + 1)
    return nullptr;
  const size_t first = last + 1 - count;
  for (size_t k = 0; k < count; ++k)
    if (split.extents[k] != extents[first + k] || (!split.extents[k].is(1) && split.digits[k] != indices[first + k]))
      return nullptr;
  return &split;
}

SmallVector<Value> KernelEmitter::reshape(ValueRange indices, const ExtentList &from, const ExtentList &to) {
  auto isConstant = [](const Extent &extent) { return extent.isConstant(); };
  if (llvm::all_of(from, isConstant) && llvm::all_of(to, isConstant))
    return delinearize(linearize(indices, from), to);
  // A division by an extent of the step takes longer than the rest of an element: runs of dimensions that have as many
  // elements in both are on their own.
  SmallVector<Value> result;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const size_t firstFrom = i, firstTo = j;
    Extent own = 1, other = 1;
    do {
      const bool isBehind = own.most() <= other.most();
      if (i < from.size() && (isBehind || j == to.size()))
        own = own * from[i++];
      else if (j < to.size())
        other = other * to[j++];
      else
        break;
    } while (!isSameExtent(own, other));
    ExtentList run(ArrayRef<Extent>(from).slice(firstFrom, i - firstFrom)),
        made(ArrayRef<Extent>(to).slice(firstTo, j - firstTo));
    if (!made.empty())
      llvm::append_range(result, delinearize(linearize(indices.slice(firstFrom, i - firstFrom), run), made));
  }
  return result;
}

void KernelEmitter::loopItems(Value begin, Value end, const ExtentList &extents,
                              function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<size_t> counted;
  for (size_t d = 0; d < extents.size(); ++d)
    if (!extents[d].is(1))
      counted.push_back(d);
  if (counted.size() < 2 || llvm::all_of(extents, [](const Extent &extent) { return extent.isConstant(); })) {
    loop(begin, end, 1, [&](Value item) { body(delinearize(item, extents)); });
    return;
  }
  auto bodyAt = [&](ValueRange digits) {
    SmallVector<Value> at(extents.size());
    for (size_t d = 0; d < extents.size(); ++d)
      at[d] = extents[d].is(1) ? index(0) : Value();
    for (auto [d, value] : llvm::zip(counted, digits))
      at[d] = value;
    body(at);
  };
  Extents walked;
  for (size_t d : counted)
    walked.push_back(extents[d]);
  if (begin == wholeBegin && end == wholeEnd)
    return nest(walked, bodyAt);
  // Rows of the last dimension, whose other indices count up: dividing each item by extents of the step would take
  // longer than the rest of the item.
  const Extent length = walked.pop_back_val();
  auto [first, last] = partsOf(begin, end, length);
  reduce(first, last, 1, delinearize(first, walked), [&](Value row, ValueRange outer) {
    auto [from, to] = itemsOfPart(row, begin, end, length);
    loop(from, to, 1, [&](Value item) {
      SmallVector<Value> digits(outer);
      digits.push_back(item);
      bodyAt(digits);
    });
    SmallVector<Value> next(outer.size());
    Value carry = index(1);
    for (size_t k = outer.size(); k-- > 0;) {
      Value sum = arith::AddIOp::create(b, location, outer[k], carry, arith::IntegerOverflowFlags::nsw);
      if (k == 0) {
        next[k] = sum;
        break;
      }
      Value isOver = arith::CmpIOp::create(b, location, arith::CmpIPredicate::eq, sum, index(walked[k]));
      next[k] = arith::SelectOp::create(b, location, isOver, index(0), sum);
      carry = arith::SelectOp::create(b, location, isOver, index(1), index(0));
    }
    return next;
  });
}

} // namespace sluice::dataflow
