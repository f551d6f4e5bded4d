//===- ExpertSlots.cpp - How many experts stay in memory ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExpertSlots.h"

#include "dialects/Dataflow/IR/Experts.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Support/Units.h"

#include <algorithm>

using namespace mlir;

namespace sluice {

namespace {
/// The experts' weights as the graph has them, before they are pooled.
struct Weights {
  int64_t experts = 0, slotBytes = 0;
  Graph without; ///< The graph in which they take no memory.
};
} // namespace

static Weights weightsOf(const Fused &fused) {
  Weights weights;
  weights.without = fused.bridge.graph;
  llvm::DenseMap<Value, size_t> numbers;
  for (auto [i, value] : llvm::enumerate(fused.bridge.values))
    numbers[value] = i;
  for (const dataflow::ExpertGroup &group : dataflow::findExperts(fused.main().getBody().front()))
    for (const dataflow::Expert &expert : group.members) {
      int64_t bytes = 0;
      for (unsigned operand : expert.weights) {
        const auto number = numbers.find(expert.op->getOperand(operand));
        if (number == numbers.end())
          continue;
        Tensor &tensor = weights.without.mutableTensor(TensorId(number->second));
        bytes = alignUp(bytes) + tensor.bytes;
        tensor.isPooled = true;
        tensor.touchedBytes = 1;
      }
      ++weights.experts;
      weights.slotBytes = std::max(weights.slotBytes, alignUp(bytes, kFileBlockBytes));
    }
  return weights;
}

std::optional<ExpertSlots> chooseExpertSlots(const Fused &fused, const CompilerOptions &options) {
  if (!fileBelowHost(fused.measured).valid() || fused.ranks > 1 || fused.choice || options.slowdown ||
      options.memory.empty())
    return std::nullopt;
  Weights weights = weightsOf(fused);
  if (weights.experts == 0)
    return std::nullopt;
  CompilerOptions quiet = options;
  quiet.dumpProblem.clear();
  // Planning reports what is wrong with the limits.
  Expected<SearchProblem> problem = problemOf(fused, quiet);
  if (!problem)
    return std::nullopt;
  const int64_t limit = problem->capacityBytes[0];
  const Expected<MemoryNeeds> whole = memoryNeeds(*problem, Machine::hostMemory());
  problem->graph = &weights.without;
  const Expected<MemoryNeeds> others = memoryNeeds(*problem, Machine::hostMemory());
  if (!whole || !others || whole->peakBytes <= limit)
    return std::nullopt;
  // A plan may need a little more than the bytes that live at a time.
  constexpr int64_t kLeastSlots = 2, kMarginShare = 50;
  const int64_t margin = others->peakBytes / kMarginShare;
  const int64_t beside = (limit - others->peakBytes - margin) / weights.slotBytes,
                most = (limit - others->least.bytes) / weights.slotBytes;
  ExpertSlots slots;
  slots.count = std::min({std::max(beside, kLeastSlots), most, weights.experts - 1});
  if (slots.count < 1)
    return std::nullopt;
  // Of experts that are used alike, the share that is in memory.
  slots.hitRate =
      options.expertHitRate.value_or(static_cast<double>(slots.count) / static_cast<double>(weights.experts));
  slots.capacityBytes = problem->capacityBytes;
  return slots;
}

} // namespace sluice
