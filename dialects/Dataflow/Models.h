//===- Models.h - All that is done with the dialect -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_MODELS_H
#define SLUICE_DATAFLOW_MODELS_H

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace sluice::dataflow {

/// Registers the dialect with the external models of all its operators' interfaces: kernels, gradients, tiling rules,
/// calls of libraries, values on the host.
void registerDataflow(mlir::DialectRegistry &registry);

/// Does the same for a context, and loads the dialect there.
void loadDataflow(mlir::MLIRContext &context);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_MODELS_H
