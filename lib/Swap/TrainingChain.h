//===- TrainingChain.h - A training step as a chain of stages -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_TRAININGCHAIN_H
#define SLUICE_LIB_SWAP_TRAININGCHAIN_H

#include "sluice/Swap/Pofo.h"

namespace sluice::swap {

/// The operators of one stage, in the problem's order.
struct ChainStage {
  std::vector<OperatorId> forward, backward;
  TensorId output; ///< The only tensor of this and earlier stages that forward passes of later stages read. Invalid for
                   ///< the last stage.
  std::vector<TensorId> saved; ///< The output, and the results of `forward` that backward passes read.
};

struct TrainingChain {
  std::vector<ChainStage> stages;
  std::vector<PofoStage> costs; ///< Per stage.
  /// Parameters, inputs and states that forward passes read. Other ones count for the backward pass that reads them.
  int64_t residentBytes = 0;
};

/// Divides a step into as many stages as this method finds. The forward pass is a prefix of the order: up to the last
/// output that is not a new state, or up to the peak of live bytes, whichever gives more stages. Stages are divided
/// where later forward operators read one earlier tensor only, and joined where backward operators read more than
/// PofoStage allows. Requires a problem that passes check(), with all operators on one accelerator. Fails with
/// Unsupported if fewer than two stages remain, or if one has more than half of the forward operators. The time is O(n
/// * e) for n operators with e operands in the worst case.
Expected<TrainingChain> trainingChain(const SwapProblem &problem);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_TRAININGCHAIN_H
