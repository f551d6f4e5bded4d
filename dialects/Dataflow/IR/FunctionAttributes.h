//===- FunctionAttributes.h - Names of inputs and outputs -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The attributes `dataflow.name` and `dataflow.updates` of a function's arguments
// and results. A result either is an output, or updates a state.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_IR_FUNCTIONATTRIBUTES_H
#define SLUICE_DIALECTS_DATAFLOW_IR_FUNCTIONATTRIBUTES_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice::dataflow {

/// The name of an input; null if the argument has none.
inline mlir::StringAttr inputName(mlir::func::FuncOp function, unsigned argument) {
  return function.getArgAttrOfType<mlir::StringAttr>(argument, DataflowDialect::NameAttrHelper::getNameStr());
}
inline void setInputName(mlir::func::FuncOp function, unsigned argument, const llvm::Twine &name) {
  function.setArgAttr(argument, DataflowDialect::NameAttrHelper::getNameStr(),
                      mlir::StringAttr::get(function.getContext(), name));
}

/// The name of an output; null if the result has none.
inline mlir::StringAttr outputName(mlir::func::FuncOp function, unsigned result) {
  return function.getResultAttrOfType<mlir::StringAttr>(result, DataflowDialect::NameAttrHelper::getNameStr());
}
inline void setOutputName(mlir::func::FuncOp function, unsigned result, const llvm::Twine &name) {
  function.setResultAttr(result, DataflowDialect::NameAttrHelper::getNameStr(),
                         mlir::StringAttr::get(function.getContext(), name));
}

/// The name of the state whose next value the result is; null if the result is an output.
inline mlir::StringAttr updatedState(mlir::func::FuncOp function, unsigned result) {
  return function.getResultAttrOfType<mlir::StringAttr>(result, DataflowDialect::UpdatesAttrHelper::getNameStr());
}

} // namespace sluice::dataflow

#endif // SLUICE_DIALECTS_DATAFLOW_IR_FUNCTIONATTRIBUTES_H
