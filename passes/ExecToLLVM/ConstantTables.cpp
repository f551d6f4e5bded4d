//===- ConstantTables.cpp - C tables as LLVM globals ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "passes/ExecToLLVM/ConstantTables.h"

#include <cmath>

using namespace mlir;
using namespace sluice;

LLVM::GlobalOp ConstantTables::addGlobal(StringRef name, Type type, Attribute value) {
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, value);
  global.setUnnamedAddr(LLVM::UnnamedAddr::Global);
  return global;
}

LLVM::GlobalOp ConstantTables::addIntegers(StringRef name, ArrayRef<int64_t> values) {
  SmallVector<int64_t, 1> zero(1, 0);
  ArrayRef<int64_t> data = values.empty() ? ArrayRef<int64_t>(zero) : values;
  auto type = RankedTensorType::get({static_cast<int64_t>(data.size())}, i64());
  return addGlobal(name, LLVM::LLVMArrayType::get(i64(), data.size()), DenseElementsAttr::get(type, data));
}

LLVM::GlobalOp ConstantTables::addIntegers(StringRef name, ArrayRef<uint32_t> values) {
  SmallVector<uint32_t, 1> zero(1, 0);
  ArrayRef<uint32_t> data = values.empty() ? ArrayRef<uint32_t>(zero) : values;
  auto type = RankedTensorType::get({static_cast<int64_t>(data.size())}, i32());
  return addGlobal(name, LLVM::LLVMArrayType::get(i32(), data.size()), DenseElementsAttr::get(type, data));
}

LLVM::GlobalOp ConstantTables::addValue(StringRef name, Type type, llvm::function_ref<Value()> make) {
  LLVM::GlobalOp global = addGlobal(name, type, Attribute());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(builder, loc, make());
  return global;
}

LLVM::GlobalOp ConstantTables::addTable(StringRef name, Type element, size_t count,
                                        llvm::function_ref<Value(size_t)> make) {
  size_t inner = std::max<size_t>(1, std::sqrt(static_cast<double>(count)));
  size_t outer = std::max<size_t>(1, (count + inner - 1) / inner);
  Type row = LLVM::LLVMArrayType::get(element, inner);
  Type table = LLVM::LLVMArrayType::get(row, outer);
  return addValue(name, table, [&]() -> Value {
    Value all = LLVM::ZeroOp::create(builder, loc, table);
    for (size_t i = 0; i < outer; ++i) {
      Value part = LLVM::ZeroOp::create(builder, loc, row);
      for (size_t j = 0; j < inner && i * inner + j < count; ++j)
        part = LLVM::InsertValueOp::create(builder, loc, part, make(i * inner + j), static_cast<int64_t>(j));
      all = LLVM::InsertValueOp::create(builder, loc, all, part, static_cast<int64_t>(i));
    }
    return all;
  });
}

Value ConstantTables::integer(Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

Value ConstantTables::real(double value) {
  return LLVM::ConstantOp::create(builder, loc, f64(), builder.getF64FloatAttr(value));
}

Value ConstantTables::null() { return LLVM::ZeroOp::create(builder, loc, ptr()); }

Value ConstantTables::aggregate(Type type, ArrayRef<Value> fields) {
  Value result = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, field] : llvm::enumerate(fields))
    result = LLVM::InsertValueOp::create(builder, loc, result, field, static_cast<int64_t>(i));
  return result;
}

Value ConstantTables::address(LLVM::GlobalOp global, Type element, int64_t index) {
  Value base = LLVM::AddressOfOp::create(builder, loc, global);
  if (index == 0)
    return base;
  return LLVM::GEPOp::create(builder, loc, ptr(), element, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
}

Value ConstantTables::string(StringRef text) {
  auto [found, isNew] = stringStarts.try_emplace(text, strings.size());
  if (isNew) {
    strings += text;
    strings += '\0';
  }
  Value base = LLVM::AddressOfOp::create(builder, loc, ptr(), stringsName);
  return LLVM::GEPOp::create(builder, loc, ptr(), builder.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(found->second)});
}

void ConstantTables::finish() {
  if (!strings.empty())
    addGlobal(stringsName, LLVM::LLVMArrayType::get(builder.getI8Type(), strings.size()),
              builder.getStringAttr(strings));
}
