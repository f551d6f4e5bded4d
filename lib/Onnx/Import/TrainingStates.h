//===- TrainingStates.h - States of a model that is trained ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_TRAININGSTATES_H
#define SLUICE_LIB_ONNX_IMPORT_TRAININGSTATES_H

#include "dialects/Dataflow/IR/NamePattern.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "sluice/Onnx/Import.h"
#include "sluice/Support/Error.h"

namespace sluice::onnximport {

/// The states of a training graph and what they become.
class Training {
public:
  /// Fails if the pattern is no regular expression.
  static Expected<Training> create(const TrainingImport &options);

  bool isTrainable(llvm::StringRef name, mlir::Type type) const;
  /// The number of this step, from 0; counts on.
  mlir::Value step(dataflow::TensorBuilder &build);
  /// Returns another seed at each call, and for each seed of the options.
  int64_t nextSeed();
  /// The current value of the state: its own, or the one that an earlier node computed.
  mlir::Value current(dataflow::StateOp state);
  /// Sets the state's value in the next step. The state must not be one that an optimizer updates.
  void update(dataflow::StateOp state, mlir::Value next);

  /// All states, each once. To be called after all nodes are imported.
  llvm::ArrayRef<std::pair<mlir::StringAttr, mlir::Value>> updates();

private:
  TrainingImport options;
  dataflow::NamePattern pattern;
  llvm::SmallVector<std::pair<mlir::StringAttr, mlir::Value>> next;
  dataflow::StateOp stepState;
  int64_t numSeeds = 0;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_TRAININGSTATES_H
