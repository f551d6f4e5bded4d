//===- ExtentFunction.cpp - Extents of a step, computed ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ExecToLLVM/ExtentFunction.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Exec/ProgramSymbols.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace sluice {

namespace {

/// Computes expressions of symbols; equal ones once.
class ExtentBuilder {
public:
  ExtentBuilder(OpBuilder &builder, Location loc, Value symbols) : builder(builder), loc(loc), symbols(symbols) {}

  Value constant(int64_t value) {
    Value &known = constants[value];
    if (!known)
      known = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
    return known;
  }
  Value value(AffineExpr expression) {
    if (auto number = dyn_cast<AffineConstantExpr>(expression))
      return constant(number.getValue());
    if (Value known = values.lookup(expression))
      return known;
    Value made = compute(expression);
    values[expression] = made;
    return made;
  }
  Value element(Value array, int64_t index) {
    return LLVM::GEPOp::create(builder, loc, array.getType(), builder.getI64Type(), array,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  }

private:
  Value compute(AffineExpr expression) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
      return LLVM::LoadOp::create(builder, loc, builder.getI64Type(), element(symbols, symbol.getPosition()));
    auto both = cast<AffineBinaryOpExpr>(expression);
    Value a = value(both.getLHS()), c = value(both.getRHS());
    switch (expression.getKind()) {
    case AffineExprKind::Add:
      return LLVM::AddOp::create(builder, loc, a, c);
    case AffineExprKind::Mul:
      return LLVM::MulOp::create(builder, loc, a, c);
    case AffineExprKind::FloorDiv:
      return LLVM::SDivOp::create(builder, loc, LLVM::SubOp::create(builder, loc, a, remainder(a, c)), c);
    case AffineExprKind::CeilDiv: {
      // -floor(-a / c)
      Value zero = constant(0), negative = LLVM::SubOp::create(builder, loc, zero, a);
      Value below = LLVM::SubOp::create(builder, loc, negative, remainder(negative, c));
      return LLVM::SubOp::create(builder, loc, zero, LLVM::SDivOp::create(builder, loc, below, c));
    }
    case AffineExprKind::Mod:
      return remainder(a, c);
    default:
      llvm_unreachable("symbols, constants and the operations above are all of an extent");
    }
  }
  /// From 0 to c - 1, where LLVM's has the sign of `a`.
  Value remainder(Value a, Value c) {
    Value rest = LLVM::SRemOp::create(builder, loc, a, c), zero = constant(0);
    Value isNegative = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, rest, zero);
    Value positive = LLVM::AddOp::create(builder, loc, rest, c);
    return LLVM::SelectOp::create(builder, loc, isNegative, positive, rest);
  }

  OpBuilder &builder;
  Location loc;
  Value symbols;
  llvm::DenseMap<AffineExpr, Value> values;
  llvm::DenseMap<int64_t, Value> constants;
};

} // namespace

/// `void (symbols, numbers)`, which stores the values of the expressions.
static LLVM::LLVMFuncOp addFunction(OpBuilder &builder, exec::ProgramOp program, StringRef name,
                                    ArrayRef<AffineExpr> expressions) {
  Location loc = program.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, pointer});
  auto function = LLVM::LLVMFuncOp::create(builder, loc, name, type, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(builder);
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  ExtentBuilder build(builder, loc, entry->getArgument(0));
  for (auto [i, expression] : llvm::enumerate(expressions))
    LLVM::StoreOp::create(builder, loc, build.value(expression),
                          build.element(entry->getArgument(1), static_cast<int64_t>(i)));
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  return function;
}

LLVM::LLVMFuncOp addExtentFunction(OpBuilder &builder, exec::ProgramOp program) {
  SmallVector<AffineExpr> expressions;
  auto add = [&](auto port) {
    for (const dataflow::Extent &extent : dataflow::extentsOf(cast<RankedTensorType>(port.getType())))
      expressions.push_back(extent.isConstant() ? builder.getAffineConstantExpr(extent.most()) : extent.expr());
  };
  for (exec::InputOp input : program.getBody().getOps<exec::InputOp>())
    add(input);
  for (exec::OutputOp output : program.getBody().getOps<exec::OutputOp>())
    add(output);
  return addFunction(builder, program, "sluice.extents", expressions);
}

LLVM::LLVMFuncOp addAdvanceFunction(OpBuilder &builder, exec::ProgramOp program) {
  SmallVector<AffineExpr> expressions;
  const SmallVector<exec::ProgramSymbol> symbols = *exec::findSymbols(program); // The program is verified.
  for (auto [s, symbol] : llvm::enumerate(symbols))
    expressions.push_back(symbol.next ? symbol.next : builder.getAffineSymbolExpr(static_cast<unsigned>(s)));
  if (llvm::none_of(symbols, [](const exec::ProgramSymbol &symbol) { return symbol.next; }))
    return {};
  return addFunction(builder, program, "sluice.advance", expressions);
}

LLVM::LLVMFuncOp addRangeFunction(OpBuilder &builder, exec::ProgramOp program) {
  SmallVector<AffineExpr> expressions;
  for (exec::InputOp input : program.getBody().getOps<exec::InputOp>())
    llvm::append_range(expressions, exec::rangeOf(input));
  if (llvm::all_of(expressions, llvm::IsaPred<AffineConstantExpr>))
    return {};
  return addFunction(builder, program, "sluice.ranges", expressions);
}

} // namespace sluice
