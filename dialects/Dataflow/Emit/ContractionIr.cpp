//===- ContractionIr.cpp - Building blocks of the contraction emitters ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/ContractionIr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace sluice::emit::detail {

Value Ir::constant(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
// Offsets stay far below 2^63, and knowing that lets LLVM fold them into addresses.
Value Ir::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw); }
Value Ir::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw); }
Value Ir::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y, arith::IntegerOverflowFlags::nsw); }
Value Ir::div(Value a, int64_t value) {
  return value == 1 ? a : b.createOrFold<arith::DivUIOp>(loc, a, constant(value));
}
Value Ir::div(Value a, Value by) { return arith::DivUIOp::create(b, loc, a, by); }
Value Ir::rem(Value a, Value by) { return arith::RemUIOp::create(b, loc, a, by); }
Value Ir::hasBit(Value a, int64_t value) {
  Value bit = arith::AndIOp::create(b, loc, a, constant(value));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit, constant(0));
}
Value Ir::rem(Value a, int64_t value) { return b.createOrFold<arith::RemUIOp>(loc, a, constant(value)); }
Value Ir::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
Value Ir::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
Value Ir::isEqual(Value x, Value y) { return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y); }
Value Ir::isLess(Value x, Value y, bool isSigned) {
  const auto predicate = isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}
Value Ir::toIndex(Value value) { return arith::IndexCastOp::create(b, loc, b.getIndexType(), value); }
Value Ir::fromIndex(Value value) {
  return value.getType().isIndex() ? Value(arith::IndexCastOp::create(b, loc, b.getI64Type(), value)) : value;
}

Value Ir::at(Value pointer, Value offset, Type type) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), type ? type : elementType, pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}
Value Ir::at(Value pointer, int64_t offset, Type type) {
  if (offset == 0)
    return pointer;
  // A constant of the operation is an int32; larger ones go through a register.
  if (offset != static_cast<int32_t>(offset))
    return at(pointer, constant(offset), type);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), type ? type : elementType, pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

static Type vectorType(Type elementType, int64_t lanes) {
  return lanes == 1 ? elementType : Type(VectorType::get({lanes}, elementType));
}
static unsigned alignmentOf(Type type) { return std::max(1u, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8); }

Type Ir::vectorOf(int64_t lanes) { return vectorType(elementType, lanes); }
Value Ir::zero(int64_t lanes) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorOf(lanes))); }
Value Ir::zero(Type element, int64_t lanes) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType(element, lanes)));
}
Value Ir::load(Value pointer, int64_t lanes) { return load(elementType, pointer, lanes); }
Value Ir::load(Type element, Value pointer, int64_t lanes) {
  return LLVM::LoadOp::create(b, loc, vectorType(element, lanes), pointer, alignmentOf(element));
}
void Ir::store(Value value, Value pointer) {
  LLVM::StoreOp::create(b, loc, value, pointer, alignmentOf(value.getType()));
}
Value Ir::load(const Source &source, Value pointer, int64_t lanes) {
  if (source.load)
    return source.load(b, loc, pointer, lanes);
  Value value = load(source.elementType, pointer, lanes);
  return source.elementType == elementType ? value : Value(arith::ExtFOp::create(b, loc, vectorOf(lanes), value));
}
void Ir::widen(const Source &source, Value from, Value to, Value count, int64_t lanes) {
  auto copy = [&](Value i, int64_t width) { store(load(source, at(from, i, source.elementType), width), at(to, i)); };
  Value whole = mul(div(count, lanes), lanes);
  loop(constant(0), whole, lanes, [&](Value i) { copy(i, lanes); });
  loop(whole, count, 1, [&](Value i) { copy(i, 1); });
}
void Ir::widen(const Source &source, Value from, Value to, int64_t count, int64_t lanes) {
  if (count < lanes)
    return widen(source, from, to, constant(count), lanes);
  auto copy = [&](Value i) { store(load(source, at(from, i, source.elementType), lanes), at(to, i)); };
  loop(constant(0), constant(count / lanes * lanes), lanes, copy);
  if (count % lanes)
    copy(constant(count - lanes));
}
void Ir::prefetch(Value pointer, int64_t offset, int64_t count, Type type, CacheLevel to) {
  int64_t line = std::max<int64_t>(512 / static_cast<int64_t>(type.getIntOrFloatBitWidth()), 1);
  for (int64_t i = 0; i < count; i += line)
    LLVM::Prefetch::create(b, loc, at(pointer, offset + i, type), /*rw=*/0, static_cast<int32_t>(to), /*cache=*/1);
}
Value Ir::broadcast(Value scalar, int64_t lanes) {
  return lanes == 1 ? scalar : Value(vector::BroadcastOp::create(b, loc, vectorOf(lanes), scalar));
}
Value Ir::multiplyAdd(Value x, Value y, Value z) { return LLVM::FMulAddOp::create(b, loc, x, y, z); }

Accumulators Ir::loop(Value from, Value to, int64_t step, ValueRange values, Body body) {
  auto forOp = scf::ForOp::create(b, loc, from, to, constant(step), values,
                                  [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                    Accumulators next = body(iv, carried);
                                    scf::YieldOp::create(b, loc, next);
                                  });
  return Accumulators(forOp.getResults());
}

void Ir::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  // The body, which may ask for scratch, is emitted when the loop is in its function already.
  auto forOp = scf::ForOp::create(b, loc, from, to, constant(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

void Ir::forLanes(int64_t count, int64_t lanes, function_ref<void(Value, int64_t)> body) {
  int64_t whole = count / lanes * lanes;
  if (whole)
    loop(constant(0), constant(whole), lanes, [&](Value first) { body(first, lanes); });
  for (int64_t first = whole, width = lanes; first < count; first += width) {
    while (width > count - first)
      width /= 2;
    body(constant(first), width);
  }
}

void Ir::forLanes(Value count, int64_t lanes, function_ref<void(Value, int64_t)> body) {
  loop(constant(0), mul(div(count, lanes), lanes), lanes, [&](Value first) { body(first, lanes); });
  for (int64_t width = lanes / 2; width > 0; width /= 2)
    ifElse(hasBit(count, width), [&] { body(mul(div(count, 2 * width), 2 * width), width); });
}

void Ir::ifElse(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  // The sides, which may ask for scratch, are emitted when the operation is in its function already.
  auto ifOp = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(ifOp.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(ifOp.elseBlock());
  otherwise();
}

void Ir::choose(Value value, int64_t count, function_ref<void(int64_t)> emit) {
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(1, count));
  auto chosen =
      scf::IndexSwitchOp::create(b, loc, TypeRange(), toIndex(value), numbers, static_cast<unsigned>(numbers.size()));
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Region &region, int64_t number) {
    b.setInsertionPointToStart(&region.emplaceBlock());
    emit(number);
    scf::YieldOp::create(b, loc);
  };
  fill(chosen.getDefaultRegion(), 0);
  for (auto [region, number] : llvm::zip(chosen.getCaseRegions(), numbers))
    fill(region, number);
}

Value Ir::scratch(int64_t elements) {
  // At the entry: an alloca in a loop would grow the stack on every turn.
  OpBuilder::InsertionGuard guard(b);
  Operation *around = b.getInsertionBlock()->getParentOp();
  while (!isa<FunctionOpInterface>(around))
    around = around->getParentOp();
  b.setInsertionPointToStart(&cast<FunctionOpInterface>(around).getFunctionBody().front());
  return LLVM::AllocaOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), elementType, constant(elements),
                                /*alignment=*/64);
}

/// values += sum over i in [from, to), a multiple of `unroll`, in one go.
static Accumulators emitSum(Ir &ir, Value from, Value to, int64_t unroll, ValueRange values, ReductionStep step) {
  return ir.loop(from, to, unroll, values, [&](Value i, ValueRange carried) {
    Accumulators next(carried);
    for (int64_t u = 0; u < unroll; ++u)
      step(i, u, next);
    return next;
  });
}

Accumulators emitReduction(Ir &ir, Value count, int64_t most, int64_t unroll, Accumulators values, ReductionStep step) {
  Value zero = ir.constant(0);
  if (most <= sumLength)
    return emitSum(ir, zero, count, unroll, values, step);
  return ir.loop(zero, count, sumLength, values, [&](Value from, ValueRange carried) {
    Accumulators sums;
    for (Value value : carried)
      sums.push_back(arith::ConstantOp::create(ir.b, ir.loc, ir.b.getZeroAttr(value.getType())));
    sums = emitSum(ir, from, ir.min(ir.add(from, sumLength), count), unroll, sums, step);
    for (auto [sum, value] : llvm::zip_equal(sums, carried))
      sum = arith::AddFOp::create(ir.b, ir.loc, value, sum);
    return sums;
  });
}

Accumulators emitReduction(Ir &ir, int64_t count, int64_t unroll, Accumulators values, ReductionStep step) {
  int64_t looped = count / unroll * unroll;
  if (looped == unroll)
    looped = 0;
  if (looped)
    values = emitReduction(ir, ir.constant(looped), looped, unroll, std::move(values), step);
  Value zero = ir.constant(0);
  for (int64_t i = looped; i < count; ++i)
    step(zero, i, values);
  return values;
}

Accumulators emitAnyReduction(Ir &ir, Value count, int64_t most, int64_t unroll, Accumulators values,
                              ReductionStep step) {
  Value whole = ir.mul(ir.div(count, unroll), unroll);
  values = emitReduction(ir, whole, most, unroll, std::move(values), step);
  return unroll == 1 ? values : emitSum(ir, whole, count, 1, values, step);
}

int64_t reductionUnroll(int64_t accumulators, int64_t count, bool isUnrolledLater) {
  if (isUnrolledLater)
    return count <= 2 ? count : accumulators >= 8 ? 1 : accumulators >= 4 ? 2 : 4;
  if (count <= 4 && count * accumulators <= 64)
    return count;
  return accumulators >= 20 ? 1 : accumulators >= 10 ? 2 : 4;
}

int64_t reductionChains(const RegisterTile &tile, int64_t count) {
  int64_t accumulators = tile.rows * tile.vectors;
  return count < 16 || accumulators > 4 ? 1 : accumulators > 2 ? 2 : 4;
}

void sinkRow(Ir &ir, int64_t valid, int64_t lanes, RowValue value, ValueRange outer, Value last, SinkFn sink) {
  SmallVector<Value> indices;
  for (Value index : outer)
    indices.push_back(ir.toIndex(index));
  indices.push_back(nullptr);
  for (int64_t offset = 0; offset < valid;) {
    while (lanes > valid - offset)
      lanes /= 2;
    indices.back() = ir.toIndex(ir.add(last, offset));
    sink(ir.b, ir.loc, value(offset, lanes), indices, lanes);
    offset += lanes;
  }
}

void emitBlockWidths(Ir &ir, Value index, int64_t count, int64_t whole, int64_t last,
                     function_ref<void(int64_t)> emit) {
  if (count == 1 || last == whole)
    return emit(last);
  ir.ifElse(
      ir.isEqual(index, ir.constant(count - 1)), [&] { emit(last); }, [&] { emit(whole); });
}

Value sliceRow(Ir &ir, ArrayRef<Value> row, int64_t vectorLanes, int64_t offset, int64_t lanes) {
  Value whole = row[offset / vectorLanes];
  if (lanes == vectorLanes)
    return whole;
  int64_t inside = offset % vectorLanes;
  if (lanes == 1)
    return vector::ExtractOp::create(ir.b, ir.loc, whole, inside);
  return vector::ExtractStridedSliceOp::create(ir.b, ir.loc, whole, ArrayRef<int64_t>{inside}, ArrayRef<int64_t>{lanes},
                                               ArrayRef<int64_t>{1});
}

} // namespace sluice::emit::detail
