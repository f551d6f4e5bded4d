//===- PofoPlan.cpp - Plans of POFO's schedules ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The runs of the schedule become a graph with an operator for each run. An offloaded tensor has two stays with
// separate addresses: the first lasts until its copy has left, and the second begins when it comes back. All stays are
// packed before the walk, so a copy waits only for the former users of its addresses. In the fluid model, a copy frees
// bytes one by one; a plan frees only whole tensors. Stays are therefore lengthened by the whole times of copies, by
// half of these times, or not at all. The result is the fastest plan whose packing fits.
//
//===----------------------------------------------------------------------===//

#include "Placers.h"
#include "SingleAccelerator.h"
#include "StaticLayout.h"
#include "Tiers.h"
#include "TrainingChain.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/Recompute.h"

#include <algorithm>
#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

/// The second stay of an offloaded tensor.
struct Return {
  Position from; ///< Invalid for tensors that are not offloaded.
  int64_t offset = 0;
};

/// Addresses decided beforehand, with a second one for what comes back.
class ReturningPlacer final : public Placer {
public:
  ReturningPlacer(const std::vector<int64_t> &offsets, std::vector<int64_t> workspaceOffsets,
                  const std::vector<Return> &returns)
      : offsets(offsets), workspaceOffsets(std::move(workspaceOffsets)), returns(returns) {}

  Status place(const StepPlanner &state, PlaceRequest &request) override {
    auto isBack = [&](TensorId t) {
      return t.valid() && returns[t.index()].from.valid() && request.position >= returns[t.index()].from;
    };
    // An operand at the first address is brought to the second, because others have the first from now on.
    std::erase_if(request.pinned, [&](ResidencyId id) {
      const Residency &r = state.residency(id);
      if (!isBack(r.tensor) || r.offset == returns[r.tensor.index()].offset)
        return false;
      request.allocations.push_back({r.tensor, state.index.bytes[r.tensor.index()], true});
      return true;
    });
    for (Allocation &allocation : request.allocations) {
      const TensorId t = allocation.tensor;
      allocation.offset = isBack(t)   ? returns[t.index()].offset
                          : t.valid() ? offsets[t.index()]
                                      : workspaceOffsets[request.position.index()];
      allocation.reservedBytes = allocation.bytes;
    }
    return {};
  }

private:
  const std::vector<int64_t> &offsets;
  std::vector<int64_t> workspaceOffsets;
  const std::vector<Return> &returns;
};

/// A step in which operators run again and some tensors leave in between.
class OffloadedStep {
public:
  /// `turn`: the position of the first backward operator. `offloaded`: results of operators before it, in the order in
  /// which they leave.
  OffloadedStep(const SwapProblem &problem, MemoryId memory, size_t turn, std::vector<TensorId> offloaded)
      : problem(problem), index(problem), memory(memory), turn(turn), offloaded(std::move(offloaded)) {}

  /// The plan with stays lengthened by this share of their copies' times; nothing if the packing exceeds the memory.
  std::optional<Expected<Plan>> plan(double share) const {
    std::vector<Stay> stays = unlimitedStays(index, memory);
    if (share > 0)
      stays = timedStays(index, memory, std::move(stays));
    std::vector<Return> returns(index.bytes.size());
    divide(stays, share, returns);
    const int64_t capacity = problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment;
    if (peakOfStays(index, stays).first > capacity)
      return std::nullopt;
    const StaticLayout layout = packStays(index, stays, capacity);
    if (layout.peakBytes > capacity)
      return std::nullopt;
    std::vector<int64_t> offsets(index.bytes.size(), 0), workspaceOffsets(index.numPositions, 0);
    std::vector<ResidentParameter> always;
    for (size_t i = 0; i < stays.size(); ++i) {
      const Stay &stay = stays[i];
      if (!stay.tensor.valid()) {
        workspaceOffsets[stay.first.index()] = layout.offsets[i];
        continue;
      }
      Return &back = returns[stay.tensor.index()];
      (back.from.valid() && stay.first == back.from ? back.offset : offsets[stay.tensor.index()]) = layout.offsets[i];
      if (index.staysResident(stay.tensor))
        always.push_back({stay.tensor, memory, layout.offsets[i], stay.bytes});
    }
    ReturningPlacer placer(offsets, std::move(workspaceOffsets), returns);
    std::vector<Placer *> placers(index.numMemories, nullptr);
    placers[memory.index()] = &placer;
    StepOptions options;
    for (const Return &back : returns)
      options.saveEarly.push_back(back.from.valid());
    setDefaultTiers(index, options);
    StepPlanner planner(index, options);
    if (Status status = planner.run(always, placers); !status)
      return propagate(status);
    return planner.takePlan();
  }

private:
  /// Divides the stays of offloaded tensors in two where operators run between them.
  void divide(std::vector<Stay> &stays, double share, std::vector<Return> &returns) const {
    std::vector<int64_t> startNs(index.numPositions + 1, 0);
    for (Position p : index.positions())
      startNs[p.index() + 1] =
          startNs[p.index()] + problem.costs.timeNs(index.opAt(p), problem.placement[index.opAt(p).index()]);
    auto positionAt = [&](int64_t timeNs) {
      const auto after = std::upper_bound(startNs.begin(), startNs.end() - 1, timeNs);
      return static_cast<size_t>(std::max<std::ptrdiff_t>(after - startNs.begin() - 1, 0));
    };
    auto copyNs = [&](TensorId t, bool isOut) {
      const Link &link = problem.machine.link(index.link(Machine::hostMemory(), memory));
      const int64_t ns = transferTimeNs(link, isOut ? memory : Machine::hostMemory(), problem.graph.tensor(t).bytes);
      return static_cast<int64_t>(share * static_cast<double>(ns));
    };
    struct Parts {
      size_t end = 0;   ///< The last position of the first stay.
      size_t begin = 0; ///< The first one of the second.
      size_t use = 0;   ///< The first backward reader.
    };
    std::vector<Parts> parts(offloaded.size());
    int64_t busyNs = 0;
    for (size_t i = 0; i < offloaded.size(); ++i) {
      const TensorId t = offloaded[i];
      parts[i].end = index.producedAt(t).index();
      parts[i].use = index.numPositions;
      for (Position p : index.uses(index.spot(t, memory)))
        if (p.index() < turn)
          parts[i].end = p.index();
        else
          parts[i].use = std::min(parts[i].use, p.index());
      busyNs = std::max(busyNs, startNs[index.producedAt(t).index() + 1]) + copyNs(t, true);
      if (share > 0)
        parts[i].end = std::max(parts[i].end, positionAt(busyNs - 1));
    }
    busyNs = startNs.back();
    for (size_t i = offloaded.size(); i-- > 0;) {
      if (parts[i].use == index.numPositions)
        continue;
      busyNs = std::min(busyNs, startNs[parts[i].use]) - copyNs(offloaded[i], false);
      parts[i].begin = share > 0 ? std::min(parts[i].use, positionAt(std::max<int64_t>(busyNs, 0))) : parts[i].use;
    }
    std::vector<size_t> stayOf(index.bytes.size(), stays.size());
    for (size_t i = 0; i < stays.size(); ++i)
      if (stays[i].tensor.valid())
        stayOf[stays[i].tensor.index()] = i;
    for (size_t i = 0; i < offloaded.size(); ++i) {
      // A tensor that would come back before it has left stays.
      if (parts[i].use == index.numPositions || parts[i].end >= parts[i].begin)
        continue;
      Stay &first = stays[stayOf[offloaded[i].index()]];
      Stay second = first;
      first.last = Position(parts[i].end);
      second.first = Position(parts[i].begin);
      returns[offloaded[i].index()].from = second.first;
      stays.push_back(second);
    }
  }

  const SwapProblem &problem;
  ProblemIndex index;
  MemoryId memory;
  size_t turn;
  std::vector<TensorId> offloaded;
};

/// The operators of the schedule's runs, and what it offloads.
struct OperatorSchedule {
  std::vector<OperatorId> runs;
  size_t turn = 0; ///< The number of runs before the first backward pass.
  std::vector<TensorId> offloaded;
};

OperatorSchedule operatorsOf(const TrainingChain &chain, const PofoSchedule &schedule) {
  OperatorSchedule result;
  bool isTurned = false;
  for (const PofoRun &run : schedule.runs) {
    const ChainStage &stage = chain.stages[run.stage];
    const std::vector<OperatorId> &operators = run.isBackward ? stage.backward : stage.forward;
    isTurned |= run.isBackward;
    result.runs.insert(result.runs.end(), operators.begin(), operators.end());
    if (!isTurned)
      result.turn = result.runs.size();
  }
  for (size_t i = 0; i < schedule.blocks.size(); ++i) {
    const PofoBlock &block = schedule.blocks[i];
    if (!block.isOffloaded)
      continue;
    const ChainStage &before = chain.stages[block.first - 1];
    if (schedule.blocks[i - 1].kind == PofoBlock::Kind::Keep)
      result.offloaded.insert(result.offloaded.end(), before.saved.begin(), before.saved.end());
    else
      result.offloaded.push_back(before.output);
  }
  return result;
}

} // namespace

Expected<Plan> sluice::planPofo(const SwapProblem &problem) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  SLUICE_ASSIGN_OR_RETURN(const MemoryId memory, singleAccelerator(problem, "POFO"));
  SLUICE_ASSIGN_OR_RETURN(const TrainingChain chain, trainingChain(problem));
  const std::string &name = problem.machine.memory(memory).name;
  const Link &link = problem.machine.link(problem.machine.findLink(Machine::hostMemory(), memory));
  const int64_t capacity = problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment;
  PofoChain model{chain.costs, 0, link.rateFrom(memory) * 1e-9, link.rateFrom(Machine::hostMemory()) * 1e-9};
  std::optional<Plan> best;
  int64_t bestNs = 0;
  std::optional<Error> first;
  // The shares of the memory that the schedule counts on; the rest is lost to fragmentation and to whole copies.
  for (const double share : {1.0, 0.95, 0.9, 0.8, 0.7}) {
    model.memoryBytes = static_cast<int64_t>(share * static_cast<double>(capacity)) - chain.residentBytes;
    Expected<PofoSchedule> schedule =
        model.memoryBytes < 0
            ? Expected<PofoSchedule>(
                  makeError(ErrorCode::Infeasible, "parameters, inputs and states, which POFO keeps in memory, need ",
                            formatBytes(chain.residentBytes), ", and the limit of memory '", name, "' is ",
                            formatBytes(capacity), ", raise --memory ", name, " by at least ",
                            chain.residentBytes - capacity, " bytes, or use a solver that swaps parameters"))
            : solvePofo(model);
    if (!schedule) {
      if (!first)
        first = schedule.error();
      break;
    }
    const OperatorSchedule steps = operatorsOf(chain, *schedule);
    const RecomputedGraph repeated(problem.graph, problem.costs, steps.runs);
    const SwapProblem own{repeated.graph(),       problem.machine,
                          repeated.costs(),       repeated.placement(problem.placement),
                          repeated.orderOfRuns(), problem.capacityBytes};
    const OffloadedStep step(own, memory, steps.turn, steps.offloaded);
    for (const double copies : {1.0, 0.5, 0.0}) {
      std::optional<Expected<Plan>> made = step.plan(copies);
      if (!made)
        continue;
      Expected<Plan> plan = std::move(*made).and_then(
          [&](Plan walked) { return validated(problem, repeated.planOfFirst(std::move(walked)), "swap=pofo"); });
      if (!plan) {
        if (!first)
          first = plan.error();
        continue;
      }
      const int64_t ns = simulate(problem.graph, problem.machine, problem.costs, *plan).makespanNs;
      if (!best || ns < bestNs) {
        best = std::move(*plan);
        bestNs = ns;
      }
    }
  }
  if (best)
    return std::move(*best);
  if (!first)
    first =
        makeError(ErrorCode::Infeasible, "the tensors that POFO keeps in memory '", name, "' cannot be packed into ",
                  formatBytes(capacity), ", raise --memory ", name, ", or use another solver")
            .value();
  return tl::unexpected<Error>(std::move(*first));
}
