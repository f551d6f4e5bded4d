//===- ActivationsOnly.cpp - Parameters stay, activations move ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/SwapPlanner.h"

#include "Placers.h"
#include "Tiers.h"
#include "sluice/Support/Units.h"

#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

/// Parameters and states, each at an address of its own from 0 on.
struct Residents {
  std::vector<int64_t> offsets; ///< Per tensor; -1: an activation.
  int64_t bytes = 0;
};

class ActivationPlacer final : public Placer {
public:
  ActivationPlacer(const Residents &residents, const SwapParams &params, const WindowCosts &windowCosts)
      : residents(residents), above(params, windowCosts, residents.bytes) {}

  int64_t calendarBase() const override { return above.calendarBase(); }

  Status place(const StepPlanner &state, PlaceRequest &request) override {
    auto isResident = [&](TensorId t) { return t.valid() && residents.offsets[t.index()] >= 0; };
    std::vector<Allocation> fixed;
    for (Allocation &allocation : request.allocations)
      if (isResident(allocation.tensor)) {
        allocation.offset = residents.offsets[allocation.tensor.index()];
        allocation.reservedBytes = allocation.bytes;
        fixed.push_back(allocation);
      }
    std::erase_if(request.allocations, [&](const Allocation &allocation) { return isResident(allocation.tensor); });
    std::erase_if(request.pinned, [&](ResidencyId id) { return isResident(state.residency(id).tensor); });
    if (!request.allocations.empty())
      SLUICE_RETURN_IF_ERROR(above.place(state, request));
    request.allocations.insert(request.allocations.end(), fixed.begin(), fixed.end());
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

/// Lays out the parameters and states that a memory's operators read. Fails where they leave no room for an operator's
/// activations.
static Expected<Residents> layOut(const ProblemIndex &index, MemoryId memory) {
  const SwapProblem &problem = index.problem;
  Residents residents;
  residents.offsets.assign(index.bytes.size(), -1);
  for (TensorId t : index.tensors()) {
    if (!staysResident(problem.graph.tensor(t)) || index.uses(index.spot(t, memory)).empty())
      continue;
    residents.offsets[t.index()] = residents.bytes;
    residents.bytes = saturatingAdd(residents.bytes, index.bytes[t.index()]);
  }
  const int64_t capacity = problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment;
  int64_t most = 0;
  OperatorId busiest;
  for (Position p : index.positions()) {
    if (index.memoryOf(p) != memory)
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
  return makeError(ErrorCode::Infeasible, "parameters and states of ", formatBytes(residents.bytes),
                   ", which this solver never swaps out, and operator '", problem.graph.op(busiest).name, "' with ",
                   formatBytes(most), " exceed the ", formatBytes(capacity), " of memory '",
                   problem.machine.memory(memory).name, "' by ", least - capacity,
                   " bytes, use a solver that also swaps parameters");
}

Expected<Plan> sluice::planActivationsOnly(const SwapProblem &problem) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  ProblemIndex index(problem);
  std::vector<Residents> residents(index.numMemories);
  std::vector<ResidentParameter> always;
  for (MemoryId m : index.acceleratorMemories()) {
    SLUICE_ASSIGN_OR_RETURN(Residents laidOut, layOut(index, m));
    residents[m.index()] = std::move(laidOut);
    const std::vector<int64_t> &offsets = residents[m.index()].offsets;
    for (TensorId t : index.tensors())
      if (offsets[t.index()] >= 0 && index.isParameter(t))
        always.push_back({t, m, offsets[t.index()], index.bytes[t.index()]});
  }

  SwapParams params;
  params.eviction = EvictionPolicy::Belady;
  const WindowCosts windowCosts(index, params);
  StepOptions options;
  setDefaultTiers(index, options);
  std::optional<Plan> best;
  int64_t bestNs = 0;
  // The second walk copies out, when it is written, each tensor that the first walk had to evict.
  for (int walk = 0; walk < 2; ++walk) {
    std::vector<std::unique_ptr<Placer>> owned(index.numMemories);
    std::vector<Placer *> placers(index.numMemories, nullptr);
    for (size_t m = 1; m < index.numRam; ++m) {
      owned[m] = std::make_unique<ActivationPlacer>(residents[m], params, windowCosts);
      placers[m] = owned[m].get();
    }
    StepPlanner planner(index, options);
    if (Status status = planner.run(always, placers); !status) {
      if (!best)
        return propagate(status);
      break;
    }
    options.saveEarly = planner.evicted();
    if (best && planner.cost().first >= bestNs)
      break;
    bestNs = planner.cost().first;
    best = planner.takePlan();
  }
  return validated(problem, std::move(*best), "swap=activations-only");
}
