//===- Library.h - What GPU makers' libraries may compute -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_LIBRARY_LIBRARY_H
#define SLUICE_DATAFLOW_LIBRARY_LIBRARY_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice::dataflow {

/// Registers the models of LibraryCallOpInterface.
void registerLibraryModels(mlir::DialectRegistry &registry);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_LIBRARY_LIBRARY_H
