//===- PartitionSolvers.cpp - The best tiling, and the rivals --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Units.h"
#include "sluice/Tiling/TilingPropagation.h"

#include <algorithm>
#include <numeric>

namespace sluice {

std::vector<std::string> partitionSolverNames() {
  return {"best", "soybean", "spartan", "data-parallel", "model-parallel"};
}

namespace {
constexpr size_t kMostEntries = 400'000'000;

class Partitioner {
public:
  Partitioner(const TensorProgram &program, const PartitionMachine &machine, const PartitionParams &params)
      : program(program), machine(machine), params(params), model(program, machine, params.cost),
        memoryBytes(params.memoryBytes ? *params.memoryBytes : machine.capacityBytes), batch(batchOf(program)) {}

  Expected<PartitionSolution> run() {
    if (params.solver == "best")
      return best();
    SLUICE_ASSIGN_OR_RETURN(Tiling tiling, baseline(params.solver));
    return finish(std::move(tiling), params.solver, false);
  }

private:
  Expected<Tiling> baseline(const std::string &name) {
    if (name == "soybean")
      return soybean();
    if (name == "spartan")
      return spartan();
    return byAxes(model, name == "data-parallel" ? dataParallel() : modelParallel(), false);
  }

  PartitionSolution finish(Tiling tiling, const std::string &solver, bool proven) {
    PartitionSolution solution;
    solution.report = measurePartition(program, machine, tiling);
    solution.chargedCost = model.charge(tiling);
    solution.gathering = gatheringOf(solver, tiling);
    solution.tiling = std::move(tiling);
    solution.solver = solver;
    solution.proven = proven;
    return solution;
  }

  static bool isWeight(const TensorProgram &program, TensorId id) {
    const ProgramTensor &tensor = program.tensors[id.index()];
    return tensor.role == TensorRole::Parameter || tensor.role == TensorRole::State || tensor.updates.valid();
  }
  bool isWeight(TensorId id) const { return isWeight(program, id); }
  /// Split in model parallelism.
  bool isMatrix(TensorId id) const { return isWeight(id) && program.tensors[id.index()].shape.size() >= 2; }

  /// What carries the batch, and along which dimension: the first of the first input that has more than one (else of
  /// the first), what operators' rules make of it, and the first of other inputs where it is as long and those rules
  /// say nothing of them.
  static TilingPropagation batchOf(const TensorProgram &program) {
    TilingPropagation batch(program, [&program](TensorId id) { return isWeight(program, id); });
    auto firstOf = [&program](size_t rank) {
      return std::find_if(program.tensors.begin(), program.tensors.end(), [rank](const ProgramTensor &tensor) {
        return tensor.role == TensorRole::Input && tensor.shape.size() >= rank;
      });
    };
    auto first = firstOf(2) != program.tensors.end() ? firstOf(2) : firstOf(1);
    if (first == program.tensors.end())
      return batch;
    batch.split(TensorId(static_cast<size_t>(first - program.tensors.begin())), 0);
    for (uint32_t t = 0; t < program.tensors.size(); ++t)
      if (const ProgramTensor &tensor = program.tensors[t]; tensor.role == TensorRole::Input && !tensor.shape.empty() &&
                                                            tensor.shape[0] == first->shape[0] &&
                                                            !batch.isReached(TensorId(t)))
        batch.split(TensorId(t), 0);
    return batch;
  }

  PartitionModel::Filter dataParallel() const {
    PartitionModel::Filter filter;
    // A batch that no operator can split says nothing of what carries it: every device does everything.
    bool isSplit = false;
    for (uint32_t i = 0; i < program.operators.size() && !isSplit; ++i)
      isSplit = !batch.rulesOf(OperatorId(i)).empty();
    filter.tensor = [this, isSplit](TensorId id, AxisTiling tiling) {
      if (isWeight(id) || !isSplit)
        return tiling.isReplicated();
      const std::optional<uint32_t> dim = batch.dimOf(id);
      return !dim || tiling == AxisTiling::split(*dim);
    };
    filter.rules = {[this, isSplit](OperatorId id, uint32_t rule) {
      const std::vector<uint32_t> rules = batch.rulesOf(id);
      if (!isSplit)
        return rule == 0;
      return rules.empty() || std::find(rules.begin(), rules.end(), rule) != rules.end();
    }};
    return filter;
  }

  PartitionModel::Filter modelParallel() const {
    PartitionModel::Filter filter;
    filter.tensor = [this](TensorId id, AxisTiling tiling) {
      if (isWeight(id))
        return !isMatrix(id) || tiling.isSplit();
      const std::optional<uint32_t> dim = batch.dimOf(id);
      return !dim || !tiling.splits(*dim);
    };
    auto keepsBatch = [this](OperatorId id, uint32_t rule) {
      const ProgramOperator &op = program.operators[id.index()];
      auto splitsBatch = [this](const std::vector<TensorId> &tensors, const std::vector<AxisTiling> &tilings) {
        for (size_t slot = 0; slot < tensors.size(); ++slot)
          if (const std::optional<uint32_t> dim = batch.dimOf(tensors[slot]); dim && tilings[slot].splits(*dim))
            return true;
        return false;
      };
      return !splitsBatch(op.operands, op.rules[rule].operands) && !splitsBatch(op.results, op.rules[rule].results);
    };
    filter.rules = {[this, keepsBatch](OperatorId id, uint32_t rule) {
                      return keepsBatch(id, rule) && (!readsMatrix(id) || splitsMatrix(id, rule));
                    },
                    keepsBatch};
    return filter;
  }
  bool readsMatrix(OperatorId id) const {
    const std::vector<TensorId> &operands = program.operators[id.index()].operands;
    return std::any_of(operands.begin(), operands.end(), [&](TensorId operand) { return isMatrix(operand); });
  }
  bool splitsMatrix(OperatorId id, uint32_t rule) const {
    const ProgramOperator &op = program.operators[id.index()];
    for (size_t slot = 0; slot < op.operands.size(); ++slot)
      if (isMatrix(op.operands[slot]) && op.rules[rule].operands[slot].isSplit())
        return true;
    return false;
  }

  /// Operators that read what data parallelism (a share of the batch) or model parallelism (a part of a weight) has
  /// split, but have no rule for it: they gather.
  std::vector<std::string> gatheringOf(const std::string &solver, const Tiling &tiling) const {
    std::vector<std::string> names;
    const bool isData = solver == "data-parallel";
    for (uint32_t i = 0; (isData || solver == "model-parallel") && i < program.operators.size(); ++i) {
      const ProgramOperator &op = program.operators[i];
      auto gathers = [&](size_t slot, size_t axis) {
        const TensorId id = op.operands[slot];
        return tiling.tensors[id.index()][axis].isSplit() &&
               op.rules[tiling.rules[i][axis]].operands[slot].isReplicated() &&
               (isData ? batch.dimOf(id).has_value() : isMatrix(id));
      };
      bool found = false;
      for (size_t slot = 0; slot < op.operands.size(); ++slot)
        for (size_t axis = 0; axis < machine.mesh.axes.size(); ++axis)
          found |= gathers(slot, axis);
      if (found)
        names.push_back(op.name);
    }
    return names;
  }

  std::vector<uint32_t> allAxes() const {
    std::vector<uint32_t> axes(machine.mesh.axes.size());
    std::iota(axes.begin(), axes.end(), 0U);
    return axes;
  }

  Expected<TilingSolution> solve(const TilingProblem &problem) const {
    TilingParams inner;
    inner.budget = params.budget;
    constexpr int64_t kEvaluations = 500;
    if (inner.budget.evaluations == std::numeric_limits<int64_t>::max())
      inner.budget.evaluations = kEvaluations;
    inner.seed = params.seed;
    inner.gap = 1e-3; // What follows along other axes is worth more than the rest.
    inner.threads = params.threads;
    return solveTiling(problem, inner);
  }

  Error tooLarge() const {
    return Error{ErrorCode::Unsupported,
                 concat("program '", program.name, "' has too many tilings to compare, use fewer devices"),
                 {}};
  }

  /// The axes one by one, the outermost first, each solved given those before.
  Expected<Tiling> byAxes(PartitionModel &costs, const PartitionModel::Filter &filter, bool levels) {
    Tiling tiling = replicatedTiling(program, machine.mesh.axes.size());
    for (uint32_t axis : allAxes()) {
      auto instance = costs.build({{axis}, tiling, kMostEntries, std::nullopt, filter, levels});
      if (!instance)
        return tl::unexpected<Error>(tooLarge());
      std::optional<std::vector<uint32_t>> choice;
      if (levels) {
        std::vector<bool> isOperator(instance->problem.nodes.size());
        std::fill(isOperator.begin() + static_cast<ptrdiff_t>(instance->tilings.size()), isOperator.end(), true);
        choice = solveByLevels(instance->problem, isOperator);
      }
      if (!choice) {
        SLUICE_ASSIGN_OR_RETURN(TilingSolution solved, solve(instance->problem));
        choice = std::move(solved.choice);
      }
      tiling = costs.decode(*instance, *choice);
    }
    return tiling;
  }

  Expected<Tiling> soybean() {
    PartitionModel ghost(program, machine, PartitionCost::Ghost);
    return byAxes(ghost, {}, true);
  }

  /// One split over all devices: one axis, and what holds along it along all.
  Expected<Tiling> spartan() {
    PartitionMachine flat = machine;
    flat.mesh.axes = {
        {"all", machine.mesh.numDevices(), machine.mesh.axes[0].bytesPerSec, machine.mesh.axes[0].latencyNs}};
    PartitionModel costs(program, flat, PartitionCost::Volume);
    auto instance = costs.build({{0}, replicatedTiling(program, 1), kMostEntries});
    if (!instance)
      return tl::unexpected<Error>(tooLarge());
    Tiling tiling = costs.decode(*instance, solveSpartan(instance->problem, instance->tilings.size(), instance->isView,
                                                         params.duplicationBytes));
    for (auto &tensor : tiling.tensors)
      tensor.resize(machine.mesh.axes.size(), tensor[0]);
    for (size_t i = 0; i < program.operators.size(); ++i) {
      std::vector<uint32_t> &rules = tiling.rules[i];
      rules.resize(machine.mesh.axes.size(), rules[0]);
      if (program.operators[i].peer)
        rules = messageRules(program.operators[i], machine.mesh);
    }
    return tiling;
  }

  std::optional<int64_t> limit() const {
    return memoryBytes == std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(memoryBytes);
  }

  int64_t valueOf(const PartitionSolution &solution) const {
    switch (params.cost) {
    case PartitionCost::Time:
      return solution.report.makespanNs;
    case PartitionCost::Volume:
      return solution.report.bytes;
    case PartitionCost::Paper:
    case PartitionCost::Ghost:
      break;
    }
    return solution.chargedCost;
  }
  /// Axes along which all devices of an operator do the same, and may not.
  int64_t redundancy(const Tiling &tiling) const {
    int64_t count = 0;
    for (size_t i = 0; i < tiling.rules.size(); ++i)
      if (!model.mayRepeat(program.operators[i]))
        count += std::count(tiling.rules[i].begin(), tiling.rules[i].end(), 0U);
    return count;
  }
  /// Within the memory first; of what counts bytes alone, without work done twice; then cheapest.
  bool isBetter(const PartitionSolution &a, const PartitionSolution &b) const {
    int64_t overA = std::max<int64_t>(0, a.report.peakBytes - memoryBytes);
    int64_t overB = std::max<int64_t>(0, b.report.peakBytes - memoryBytes);
    if (overA != overB)
      return overA < overB;
    if (params.cost != PartitionCost::Time && redundancy(a.tiling) != redundancy(b.tiling))
      return redundancy(a.tiling) < redundancy(b.tiling);
    return valueOf(a) < valueOf(b);
  }

  /// One axis after the other, given the rest, while that gets cheaper. Nothing where an earlier descent without a
  /// memory limit came by the same tiling, and went on from there for as long.
  Expected<std::optional<Tiling>> descend(Tiling tiling, std::optional<int64_t> memory, bool sharesCopies = false) {
    auto costOf = [&](const Tiling &of) {
      return sharesCopies ? sharedCost(params.cost, program, machine, of) : model.charge(of);
    };
    int64_t cost = costOf(tiling);
    constexpr int kMostRounds = 4;
    size_t unchanged = 0; // Axes in a row along which nothing got cheaper.
    for (int round = 0; round < kMostRounds; ++round) {
      if (!memory && !sharesCopies) {
        auto isSame = [&](const auto &other) {
          return other.first <= round && other.second.rules == tiling.rules && other.second.tensors == tiling.tensors;
        };
        if (std::any_of(seen.begin(), seen.end(), isSame))
          return std::nullopt;
        seen.emplace_back(round, tiling);
      }
      int64_t before = cost;
      for (uint32_t axis : allAxes()) {
        if (params.budget.mustStop())
          return tiling;
        auto instance = model.build({{axis}, tiling, kMostEntries, memory, {}, false, sharesCopies});
        if (!instance && sharesCopies)
          return tiling;
        if (!instance)
          return tl::unexpected<Error>(tooLarge());
        Expected<TilingSolution> solved = solve(instance->problem);
        // Within the memory there may be nothing along this axis alone.
        if (!solved && solved.error().code != ErrorCode::Infeasible)
          return propagate(solved);
        if (!solved)
          continue;
        Tiling next = model.decode(*instance, solved->choice);
        int64_t nextCost = costOf(next);
        unchanged = nextCost < cost ? 0 : unchanged + 1;
        if (nextCost < cost || memory) {
          tiling = std::move(next);
          cost = nextCost;
        } else if (unchanged == machine.mesh.axes.size())
          return tiling;
      }
      if (cost >= before)
        break;
    }
    return tiling;
  }

  /// Where descents begin: at all candidates of a small program, at the best two of a large one.
  std::vector<Tiling> startsOf(const std::vector<PartitionSolution> &candidates) const {
    constexpr size_t kWork = 40'000, kFewest = 2;
    const size_t most = std::max(kWork / (program.operators.size() + 1), kFewest);
    std::vector<const PartitionSolution *> order;
    for (const PartitionSolution &candidate : candidates)
      order.push_back(&candidate);
    if (most < order.size()) {
      std::stable_sort(order.begin(), order.end(), [&](const auto *a, const auto *b) { return isBetter(*a, *b); });
      order.resize(most);
    }
    std::vector<Tiling> starts;
    for (const PartitionSolution *candidate : order)
      starts.push_back(candidate->tiling);
    return starts;
  }

  Expected<PartitionSolution> best() {
    std::vector<PartitionSolution> candidates;
    for (const std::string &name : partitionSolverNames())
      if (name != "best") {
        SLUICE_ASSIGN_OR_RETURN(Tiling tiling, baseline(name));
        candidates.push_back(finish(std::move(tiling), name, false));
      }
    SLUICE_ASSIGN_OR_RETURN(Tiling greedy, byAxes(model, {}, false));
    candidates.push_back(finish(std::move(greedy), "axes", false));

    std::optional<int64_t> memory = limit();
    // All axes at once, where that is a matter of small tables.
    constexpr size_t kFewEntries = 3'000'000, kSharedEntries = 30'000'000;
    bool proven = false;
    if (auto instance = model.build({allAxes(), candidates[0].tiling, kFewEntries, memory}))
      if (Expected<TilingSolution> solved = solve(instance->problem)) {
        proven = solved->optimal();
        candidates.push_back(finish(model.decode(*instance, solved->choice), "exact", proven));
      }
    if (!proven || params.cost == PartitionCost::Time) {
      std::vector<Tiling> starts = startsOf(candidates);
      for (Tiling &start : starts) {
        if (params.budget.mustStop())
          break;
        SLUICE_ASSIGN_OR_RETURN(std::optional<Tiling> tiling, descend(std::move(start), std::nullopt));
        if (tiling)
          candidates.push_back(finish(std::move(*tiling), "descent", false));
      }
    }
    auto pick = [&] {
      return std::min_element(candidates.begin(), candidates.end(),
                              [&](const auto &a, const auto &b) { return isBetter(a, b); });
    };
    // Operators share conversions, which the searches above charge each of them. With a cost in time, these searches
    // took several times as long for a large transformer, and found nothing better.
    const bool sharesCopies = params.cost == PartitionCost::Volume;
    if (sharesCopies)
      if (auto instance = model.build({allAxes(), candidates[0].tiling, kSharedEntries, std::nullopt, {}, false, true}))
        if (Expected<TilingSolution> solved = solve(instance->problem))
          candidates.push_back(finish(model.decode(*instance, solved->choice), "sharing", false));
    if (sharesCopies)
      for (Tiling &start : startsOf(candidates)) {
        if (params.budget.mustStop())
          break;
        SLUICE_ASSIGN_OR_RETURN(std::optional<Tiling> tiling, descend(std::move(start), std::nullopt, true));
        candidates.push_back(finish(std::move(*tiling), "sharing", false));
      }
    // Copies take memory that the problem does not know of: its limit falls until they fit.
    constexpr int kTries = 4;
    int64_t within = memoryBytes;
    for (int i = 0; memory && i < kTries && pick()->report.peakBytes > memoryBytes; ++i) {
      Expected<std::optional<Tiling>> tiling = descend(pick()->tiling, within);
      if (!tiling)
        break;
      candidates.push_back(finish(std::move(**tiling), "memory", false));
      within = std::max<int64_t>(1, within - std::max<int64_t>(1, candidates.back().report.peakBytes - memoryBytes));
    }
    std::vector<PartitionBaseline> baselines;
    for (size_t i = 0; i + 1 < partitionSolverNames().size(); ++i) {
      baselines.push_back(
          {candidates[i].solver, candidates[i].chargedCost, candidates[i].report, candidates[i].gathering});
      baselines.back().report.conversions.clear();
    }
    PartitionSolution solution = std::move(*pick());
    solution.baselines = std::move(baselines);
    if (solution.report.peakBytes > memoryBytes)
      return makeError(ErrorCode::Infeasible, "no tiling found of '", program.name, "' on ", machine.mesh.numDevices(),
                       " devices keeps within ", formatBytes(memoryBytes),
                       " per device, and the smallest tiling found needs ", formatBytes(solution.report.peakBytes),
                       " per device, use more devices or a smaller batch");
    solution.solver = "best";
    solution.gathering.clear(); // A baseline's.
    return solution;
  }

  const TensorProgram &program;
  const PartitionMachine &machine;
  const PartitionParams &params;
  PartitionModel model;
  int64_t memoryBytes;
  TilingPropagation batch;                  ///< What carries it.
  std::vector<std::pair<int, Tiling>> seen; ///< Where rounds of descents began, and which.
};
} // namespace

Expected<PartitionSolution> solvePartition(const TensorProgram &program, const PartitionMachine &machine,
                                           const PartitionParams &params) {
  SLUICE_RETURN_IF_ERROR(program.check());
  SLUICE_RETURN_IF_ERROR(machine.mesh.check());
  std::vector<std::string> names = partitionSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end())
    return makeError(ErrorCode::NotFound, "solver '", params.solver, "' of partitions is unknown, use '", names.front(),
                     "'");
  if (params.duplicationBytes < 0)
    return makeError(ErrorCode::InvalidInput, "the partition cannot allow ", params.duplicationBytes,
                     " bytes for tensors that each device holds as a whole, give at least 0");
  if (!(machine.flopsPerSec > 0) || !(machine.memoryBytesPerSec > 0) || machine.launchOverheadNs < 0)
    return makeError(
        ErrorCode::InvalidInput,
        "the machine of the partition has a device without a rate or with a negative time, correct the machine");
  Expected<PartitionSolution> solution = Partitioner(program, machine, params).run();
  if (!solution)
    return solution;
  bool isBest = params.solver == "best";
  if (Status status =
          validatePartition(program, machine, *solution,
                            isBest ? std::optional(params.memoryBytes.value_or(machine.capacityBytes)) : std::nullopt);
      !status)
    return propagate(status);
  return solution;
}

} // namespace sluice
