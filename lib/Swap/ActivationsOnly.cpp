//===- ActivationsOnly.cpp - Parameters stay, activations move ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/SwapPlanner.h"

#include "Placers.h"
#include "sluice/Support/Units.h"

#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

/// Weights and states, at addresses of their own from 0 on.
struct Residents {
  std::vector<int64_t> offsets; ///< Per tensor; -1: an activation.
  int64_t bytes = 0;
};

class ActivationPlacer final : public Placer {
public:
  ActivationPlacer(const Residents &residents, const SwapParams &params)
      : residents(residents), above(params, residents.bytes) {}

  Status place(const StepPlanner &state, PlaceRequest &request) override {
    auto isResident = [&](TensorId t) { return t.valid() && residents.offsets[t.index()] >= 0; };
    std::vector<Want> fixed;
    for (Want &want : request.wants)
      if (isResident(want.tensor)) {
        want.offset = residents.offsets[want.tensor.index()];
        want.takes = want.bytes;
        fixed.push_back(want);
      }
    std::erase_if(request.wants, [&](const Want &want) { return isResident(want.tensor); });
    std::erase_if(request.pinned, [&](uint32_t id) { return isResident(state.residency(id).tensor); });
    if (!request.wants.empty())
      if (Status status = above.place(state, request); !status)
        return status;
    request.wants.insert(request.wants.end(), fixed.begin(), fixed.end());
    return {};
  }

private:
  const Residents &residents;
  WindowPlacer above;
};

} // namespace

static bool staysResident(const Tensor &tensor) {
  return tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State;
}

/// What operators of a memory read, checked to leave room for what they write.
static Expected<Residents> layOut(const ProblemIndex &index, uint32_t memory) {
  const SwapProblem &problem = index.problem;
  Residents residents;
  residents.offsets.assign(index.bytes.size(), -1);
  for (uint32_t i = 0; i < index.bytes.size(); ++i) {
    if (!staysResident(problem.graph.tensor(TensorId(i))) || index.uses(index.spot(TensorId(i), memory)).empty())
      continue;
    residents.offsets[i] = residents.bytes;
    residents.bytes = saturatingAdd(residents.bytes, index.bytes[i]);
  }
  const int64_t capacity = problem.capacityBytes[memory] / kArenaAlignment * kArenaAlignment;
  int64_t most = 0;
  OperatorId busiest;
  for (uint32_t p = 0; p < index.numPositions; ++p) {
    if (index.memoryAt[p] != memory)
      continue;
    const Operator &op = index.operatorAt(p);
    int64_t needed = alignUp(op.workspaceBytes);
    for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs})
      for (TensorId t : *list)
        needed += residents.offsets[t.index()] < 0 ? index.bytes[t.index()] : 0;
    if (!busiest.valid() || needed > most) {
      most = needed;
      busiest = index.opAt(p);
    }
  }
  const int64_t least = saturatingAdd(residents.bytes, most);
  if (least <= capacity)
    return residents;
  return makeError(ErrorCode::Infeasible, "parameters and states of ", formatBytes(residents.bytes), " and operator '",
                   problem.graph.op(busiest).name, "' with ", formatBytes(most), " exceed the ", formatBytes(capacity),
                   " of memory '", problem.machine.memories[memory].name, "' by ", least - capacity,
                   " bytes where only activations swap, use a solver that swaps parameters too");
}

Expected<Plan> sluice::planActivationsOnly(const SwapProblem &problem) {
  if (Status status = check(problem); !status)
    return propagate(status);
  ProblemIndex index(problem);
  std::vector<Residents> residents(index.numMemories);
  std::vector<Kept> always;
  for (uint32_t m = 1; m < index.numMemories; ++m) {
    Expected<Residents> laidOut = layOut(index, m);
    if (!laidOut)
      return propagate(laidOut);
    residents[m] = std::move(*laidOut);
    for (uint32_t i = 0; i < index.bytes.size(); ++i)
      if (residents[m].offsets[i] >= 0 && index.isParameter(TensorId(i)))
        always.push_back({TensorId(i), m, residents[m].offsets[i], index.bytes[i]});
  }

  SwapParams params;
  params.eviction = EvictionPolicy::Belady;
  StepOptions options;
  std::optional<Plan> best;
  int64_t bestNs = 0;
  // What the first walk had to evict the second copies out when it is written.
  for (int walk = 0; walk < 2; ++walk) {
    std::vector<std::unique_ptr<Placer>> owned(index.numMemories);
    std::vector<Placer *> placers(index.numMemories, nullptr);
    for (uint32_t m = 1; m < index.numMemories; ++m) {
      owned[m] = std::make_unique<ActivationPlacer>(residents[m], params);
      placers[m] = owned[m].get();
    }
    StepPlanner planner(index, options);
    if (Status status = planner.run(always, placers); !status) {
      if (!best)
        return propagate(status);
      break;
    }
    options.saveEarly = planner.evicted();
    if (best && planner.makespanNs() >= bestNs)
      break;
    bestNs = planner.makespanNs();
    best = planner.takePlan();
  }
  best->solver = "swap=activations-only";
  Machine limited = problem.machine;
  for (size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacityBytes = problem.capacityBytes[m];
  if (Status status = validatePlan(problem.graph, limited, *best); !status)
    return makeError(ErrorCode::Internal, best->solver, " made an invalid plan: ", status.error().message);
  return std::move(*best);
}
