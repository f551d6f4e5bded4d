//===- ConstantTables.h - C tables as LLVM globals --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EXECTOLLVM_CONSTANTTABLES_H
#define SLUICE_PASSES_EXECTOLLVM_CONSTANTTABLES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace sluice {

/// Appends integer sequences to one array and finds those already there.
template <typename T>
class SequencePool {
public:
  /// Returns the index at which `sequence` begins in the array.
  int64_t intern(const std::vector<T> &sequence) {
    auto [found, isNew] = starts.try_emplace(sequence, data.size());
    if (isNew)
      data.insert(data.end(), sequence.begin(), sequence.end());
    return found->second;
  }
  const std::vector<T> &elements() const { return data; }

private:
  std::vector<T> data;
  std::map<std::vector<T>, int64_t> starts;
};

/// Numbers strings in the order of their first use.
class NamePool {
public:
  uint32_t intern(llvm::StringRef name) {
    auto [found, isNew] = ids.try_emplace(name, list.size());
    if (isNew)
      list.push_back(name.str());
    return found->second;
  }
  const std::vector<std::string> &names() const { return list; }

private:
  std::vector<std::string> list;
  llvm::StringMap<uint32_t> ids;
};

/// Builds internal constant globals with C's layout.
class ConstantTables {
public:
  /// `stringsName`: the name of the global that holds the strings.
  ConstantTables(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef stringsName = "sluice.strings")
      : builder(builder), loc(loc), stringsName(stringsName) {}

  mlir::Type i32() { return builder.getI32Type(); }
  mlir::Type i64() { return builder.getI64Type(); }
  mlir::Type f64() { return builder.getF64Type(); }
  mlir::Type ptr() { return mlir::LLVM::LLVMPointerType::get(builder.getContext()); }
  mlir::Type structOf(llvm::ArrayRef<mlir::Type> fields) {
    return mlir::LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  }

  /// Adds an integer array, which is never empty, so that its address is always valid.
  mlir::LLVM::GlobalOp addIntegers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  mlir::LLVM::GlobalOp addIntegers(llvm::StringRef name, llvm::ArrayRef<uint32_t> values);

  /// Adds an array of `count` elements of one type, each built by `make` in the initializer. The array is nested: about
  /// √n arrays of √n elements, laid out in memory like a flat one. Inserting n elements into a flat constant array
  /// would cost n², because each step makes a constant.
  mlir::LLVM::GlobalOp addTable(llvm::StringRef name, mlir::Type element, size_t count,
                                llvm::function_ref<mlir::Value(size_t)> make);
  /// Adds one value.
  mlir::LLVM::GlobalOp addValue(llvm::StringRef name, mlir::Type type, llvm::function_ref<mlir::Value()> make);

  // Constants, at the builder's position.
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value real(double value);
  mlir::Value null();
  mlir::Value aggregate(mlir::Type type, llvm::ArrayRef<mlir::Value> fields);
  mlir::Value address(mlir::LLVM::GlobalOp global, mlir::Type element = {}, int64_t index = 0);
  /// The address of a zero-terminated string. All strings are in one global, which finish() adds.
  mlir::Value string(llvm::StringRef text);

  /// Adds the strings' global. Call last, once.
  void finish();

private:
  mlir::LLVM::GlobalOp addGlobal(llvm::StringRef name, mlir::Type type, mlir::Attribute value);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::string stringsName, strings;
  llvm::StringMap<int64_t> stringStarts;
};

} // namespace sluice

#endif // SLUICE_PASSES_EXECTOLLVM_CONSTANTTABLES_H
