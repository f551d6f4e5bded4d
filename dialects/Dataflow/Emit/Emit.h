//===- Emit.h - Kernels of the operators ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_EMIT_H
#define SLUICE_DATAFLOW_EMIT_EMIT_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice::dataflow {

/// Registers the models of EmitKernelOpInterface, EmitElementOpInterface and EmitScalarOpInterface, and those of the
/// cost of collectives.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_EMIT_H
