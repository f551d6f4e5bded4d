//===- Exec.h - The planned program form ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_EXEC_H
#define SLUICE_DIALECTS_EXEC_EXEC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace sluice::exec {
class InitOp;
class StepOp;

/// ONNX's TensorProto.DataType number of an element type (`i8` and `si8` are
/// both int8), or nothing if ONNX has no such type.
std::optional<int32_t> onnxElementType(mlir::Type type);
/// The bytes of a dense tensor of static shape; nothing on overflow, or if the size of an element is unknown.
std::optional<int64_t> denseBytes(mlir::RankedTensorType type);
} // namespace sluice::exec

#include "dialects/Exec/ExecEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Exec/ExecAttrs.h.inc"
// The dialect's discardable attributes are of the types above.
#include "dialects/Exec/ExecDialect.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Exec/ExecInterfaces.h.inc"
#include "dialects/Exec/ExecTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Exec/ExecOps.h.inc"

namespace sluice::exec {

/// Numbers the memories, devices, links and streams of a verified program: each kind from 0, in the order of
/// declaration.
class DeclarationNumbers {
public:
  explicit DeclarationNumbers(ProgramOp program);
  uint32_t operator[](mlir::FlatSymbolRefAttr symbol) const { return numbers.lookup(symbols.lookup(symbol.getAttr())); }

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
};

} // namespace sluice::exec

#endif // SLUICE_DIALECTS_EXEC_EXEC_H
