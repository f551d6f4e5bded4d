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
  /// Fails where the pattern is no regular expression.
  static Expected<Training> create(const TrainingImport &options);

  bool isTrainable(llvm::StringRef name, mlir::Type type) const;
  /// The number of this step, from 0; counts on.
  mlir::Value step(dataflow::TensorBuilder &build);
  /// Another one at each call, and for each seed of the options.
  int64_t nextSeed();
  /// The state's value so far: its own, or what a node before made of it.
  mlir::Value current(dataflow::StateOp state);
  /// The state's value in the next step; it is nothing an optimizer updates.
  void update(dataflow::StateOp state, mlir::Value next);

  /// Each state once; to be asked for when all nodes are read.
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
