//===- Models.h - Attaching external models of interfaces -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_MODELS_H
#define SLUICE_DATAFLOW_IR_MODELS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "mlir/IR/DialectRegistry.h"

namespace sluice::dataflow {

/// Attaches external models to their operators.
template <typename... Models>
void attach(mlir::MLIRContext *context) {
  (Models::ConcreteEntity::template attachInterface<Models>(*context), ...);
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_MODELS_H
