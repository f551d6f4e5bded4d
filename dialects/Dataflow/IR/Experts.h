//===- Experts.h - Operators that the data of a step chooses ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_IR_EXPERTS_H
#define SLUICE_DIALECTS_DATAFLOW_IR_EXPERTS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include <vector>

namespace sluice::dataflow {

/// An operator that reads some of its constants only if an element of a mask is true.
struct Expert {
  mlir::Operation *op = nullptr;
  int64_t element = 0;                    ///< The expert's index in the mask.
  llvm::SmallVector<unsigned, 6> weights; ///< The numbers of the operands that only this operator reads.
};

/// Experts with one mask, by ascending elements. Their weights have the same types in the same order.
struct ExpertGroup {
  mlir::Value mask; ///< [elements] of i1, computed in the step.
  std::vector<Expert> members;
};

/// The groups of a program's block, each of at least two experts, in the order of their first operators. Weights of
/// fewer than 4 KiB are left out. O(operands).
std::vector<ExpertGroup> findExperts(mlir::Block &block);

} // namespace sluice::dataflow

#endif // SLUICE_DIALECTS_DATAFLOW_IR_EXPERTS_H
