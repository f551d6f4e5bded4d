//===- HtfMpr.cpp - Mappings by a learned predictor -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/HtfMpr.h"

#include "Evaluator.h"
#include "Exhaustive.h"
#include "ListScheduler.h"
#include "Neighbourhoods.h"
#include "sluice/Optimize/Genetic.h"
#include "sluice/Optimize/GradientBoosting.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Optimize/Tpe.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

namespace sluice {
namespace {

/// The thesis's N.
constexpr int64_t kMappings = 700;
/// Mappings that the genetic search may ask the predictor for.
constexpr int64_t kPredictions = 10'000;
constexpr size_t kPopulation = 64;
/// Times that the predictor learns anew from what it promised most.
constexpr int64_t kRounds = 4;
constexpr int64_t kPromising = 48;
/// Mappings of the last round, which are ordered anew, and orders tried of each.
constexpr int64_t kFinalists = 192, kOrders = 100;
constexpr size_t kRunnersUp = 24;
constexpr size_t kFolds = 5;
/// Rows times features of training that trees are grown for, all of them together.
constexpr int64_t kTrainingWork = 2'000'000'000;
/// Mappings that are suggested at once: fixed, so that the result does not depend
/// on the number of threads.
constexpr size_t kBatch = 16;

/// A mapping's genes: per unit, the number of a device it may run on.
struct Mapped {
  Choices genes;
  int64_t makespanNs = kInfeasibleObjective;
};

class Mapper {
public:
  explicit Mapper(const SolverInput &input) : input(input), units(input.problem) {
    for (size_t unit = 0; unit < units.members.size(); ++unit) {
      const DeviceId pinned = units.device[unit];
      allowed.push_back(pinned.valid() ? std::vector<DeviceId>{pinned} : input.index.devices);
      numChoices.push_back(static_cast<uint8_t>(allowed.back().size()));
    }
  }

  std::vector<DeviceId> placementOf(const Choices &genes) const {
    std::vector<DeviceId> placement(units.unitOf.size());
    for (size_t i = 0; i < placement.size(); ++i)
      placement[i] = allowed[units.unitOf[i]][genes[units.unitOf[i]]];
    return placement;
  }

  bool fits(std::span<const DeviceId> placement) const {
    if (input.problem.capacityBytes.empty())
      return true;
    const std::vector<int64_t> bytes = placementBytes(input.problem, placement);
    return std::equal(bytes.begin(), bytes.end(), input.problem.capacityBytes.begin(), std::less_equal<>());
  }

  /// Simulated, in HEFT's order.
  int64_t makespanNs(const Choices &genes) const {
    const std::vector<DeviceId> placement = placementOf(genes);
    if (!fits(placement))
      return kInfeasibleObjective;
    return Evaluator(input.index).makespanNs(placement, scheduleAsHeft(input, placement).order);
  }

  /// N distinct mappings, measured; fewer where there are no more or the clock ends.
  std::vector<Mapped> initialMappings(size_t count) {
    const Rng root = Rng(input.seed).fork(0);
    std::vector<Mapped> all;
    std::set<Choices> known;
    CategoricalTpe tpe(numChoices);
    std::vector<Choices> fixed = structuredMappings();
    uint64_t draw = 0;
    for (int fruitless = 0; all.size() < count && fruitless < 20 && (all.empty() || !input.budget.mustStop());) {
      std::vector<Mapped> batch;
      while (batch.size() < std::min(kBatch, count - all.size()) && fruitless < 20) {
        Choices genes;
        if (!fixed.empty()) {
          genes = std::move(fixed.back());
          fixed.pop_back();
        } else {
          Rng rng = root.fork(draw);
          genes = draw++ % 2 ? tpe.suggest(rng) : drawnMapping(draw / 2 % 3, rng);
        }
        if (known.insert(genes).second) {
          batch.push_back({std::move(genes)});
          fruitless = 0;
        } else {
          ++fruitless;
        }
      }
      timeAll(batch);
      for (Mapped &mapped : batch) {
        tpe.observe(mapped.genes, mapped.makespanNs);
        all.push_back(std::move(mapped));
      }
    }
    return all;
  }

  std::vector<Mapped> measure(std::vector<Choices> genes) const {
    std::vector<Mapped> mappings;
    for (Choices &one : genes)
      mappings.push_back({std::move(one)});
    timeAll(mappings);
    return mappings;
  }

  TrainingSet trainingSet(std::span<const Mapped> mappings, MappingEncoding encoding) const {
    TrainingSet set;
    for (const Mapped &mapped : mappings)
      if (mapped.makespanNs != kInfeasibleObjective)
        set.add(encode(mapped.genes, encoding), std::log(static_cast<double>(mapped.makespanNs)));
    return set;
  }

  std::vector<float> encode(const Choices &genes, MappingEncoding encoding) const {
    std::vector<float> row;
    for (size_t unit = 0; unit < genes.size(); ++unit) {
      if (numChoices[unit] < 2)
        continue;
      if (encoding == MappingEncoding::Integer)
        row.push_back(genes[unit]);
      else
        for (uint8_t choice = 0; choice < numChoices[unit]; ++choice)
          row.push_back(genes[unit] == choice);
    }
    return row;
  }

  BoostingParams boosting(const TrainingSet &set) const {
    BoostingParams params;
    // A level of a tree looks at every cell; eight leaves are about four levels.
    const int64_t work = static_cast<int64_t>(set.numRows() * std::max<size_t>(set.numFeatures, 1)) * 4;
    params.trees = static_cast<int>(std::clamp<int64_t>(kTrainingWork / std::max<int64_t>(work, 1), 10, 300));
    params.learningRate = params.trees < 100 ? 0.3 : 0.1;
    return params;
  }

  /// The best by prediction of all that the genetic search has seen, but for those
  /// given, which are measured.
  std::vector<Choices> predictedBest(std::span<const Mapped> mappings, const BoostedTrees &trees, size_t count) const {
    auto predictNs = [&](const Choices &genes) {
      return std::llround(std::exp(std::min(trees.predict(encode(genes, MappingEncoding::OneHot)), 42.0)));
    };
    std::set<std::pair<int64_t, Choices>> best;
    std::set<Choices> known;
    for (const Mapped &mapped : mappings)
      known.insert(mapped.genes);
    std::mutex mutex;
    GeneticProblem<Choices> problem;
    problem.evaluate = [&](const Choices &genes) {
      const int64_t ns = predictNs(genes);
      // Whatever the order of threads, the least of all remain.
      std::lock_guard<std::mutex> lock(mutex);
      if (!known.contains(genes))
        best.emplace(ns, genes);
      if (best.size() > count)
        best.erase(std::prev(best.end()));
      return ns;
    };
    problem.crossover = [&](const Choices &mother, const Choices &father, Rng &rng) {
      return rng.chance(0.5) ? crossStochastic(mother, father, predictNs(mother), predictNs(father), rng)
                             : crossPoints(mother, father, rng);
    };
    problem.mutate = [&](Choices &genes, Rng &rng) {
      for (uint64_t left = rng.below(3); left > 0; --left) {
        const size_t unit = rng.below(genes.size());
        genes[unit] = static_cast<uint8_t>(rng.below(numChoices[unit]));
      }
    };
    GeneticParams params;
    params.population = kPopulation;
    // Times differ by little, so that 1/t alone hardly selects.
    params.elites = kPopulation / 2;
    params.selection = Selection::Reciprocal;
    params.budget = input.budget;
    params.budget.evaluations = kPredictions;
    params.seed = input.seed;
    params.threads = input.threads;
    std::vector<GeneticSeed<Choices>> seeds;
    for (size_t i = 0; i < std::min(mappings.size(), kPopulation / 2); ++i)
      seeds.push_back({mappings[i].genes});
    solveGenetic(problem, seeds, params);
    std::vector<Choices> genes;
    for (const auto &[ns, choices] : best)
      genes.push_back(choices);
    return genes;
  }

private:
  void timeAll(std::vector<Mapped> &mappings) const {
    parallelFor(input.threads, mappings.size(),
                [&](size_t i) { mappings[i].makespanNs = makespanNs(mappings[i].genes); });
  }

  /// Per gene, from the mother in the share of her fitness 1/t.
  static std::vector<Choices> crossStochastic(const Choices &mother, const Choices &father, int64_t motherNs,
                                              int64_t fatherNs, Rng &rng) {
    const double share =
        static_cast<double>(fatherNs) / (static_cast<double>(motherNs) + static_cast<double>(fatherNs));
    Choices child = father;
    for (size_t i = 0; i < child.size(); ++i)
      if (rng.chance(share))
        child[i] = mother[i];
    return {std::move(child)};
  }

  /// Two points: every way to take the three parts of either, but for the parents.
  static std::vector<Choices> crossPoints(const Choices &mother, const Choices &father, Rng &rng) {
    size_t a = rng.below(mother.size() + 1), b = rng.below(mother.size() + 1);
    if (a > b)
      std::swap(a, b);
    std::vector<Choices> children;
    for (unsigned parts = 1; parts < 7; ++parts) {
      Choices child = mother;
      for (size_t i = 0; i < child.size(); ++i)
        if (parts >> (i < a ? 0 : i < b ? 1 : 2) & 1)
          child[i] = father[i];
      children.push_back(std::move(child));
    }
    return children;
  }

  uint8_t choiceOf(size_t unit, size_t device) const { return static_cast<uint8_t>(numChoices[unit] > 1 ? device : 0); }
  Choices onPath(const std::vector<OperatorId> &path, size_t device, size_t rest) const {
    Choices genes(numChoices.size());
    for (size_t unit = 0; unit < genes.size(); ++unit)
      genes[unit] = choiceOf(unit, rest);
    for (OperatorId op : path)
      genes[units.unitOf[op.index()]] = choiceOf(units.unitOf[op.index()], device);
    return genes;
  }

  /// Homogeneous ones, last; and the longest path on one device, the rest on another.
  std::vector<Choices> structuredMappings() const {
    const size_t devices = input.index.devices.size();
    const std::vector<double> ranks = upwardRanks(input, /*communication=*/true);
    const std::vector<OperatorId> path = pathFrom([&](std::span<const uint32_t> next) {
      return *std::max_element(next.begin(), next.end(), [&](uint32_t a, uint32_t b) { return ranks[a] < ranks[b]; });
    });
    std::vector<Choices> mappings;
    for (size_t device = 0; device < devices; ++device)
      for (size_t rest = 0; rest < devices; ++rest)
        if (device != rest)
          mappings.push_back(onPath(path, device, rest));
    for (size_t device = 0; device < devices; ++device)
      mappings.push_back(onPath({}, device, device));
    return mappings;
  }

  /// From an operator that reads no other's result on, as `pick` says.
  template <typename Pick>
  std::vector<OperatorId> pathFrom(const Pick &pick) const {
    std::vector<uint32_t> entries;
    for (OperatorId op : input.topological)
      if (input.index.predecessors(op).empty())
        entries.push_back(op.value);
    std::vector<OperatorId> path;
    for (std::span<const uint32_t> next = entries; !next.empty(); next = input.index.successors(path.back()))
      path.push_back(OperatorId(pick(next)));
    return path;
  }

  /// A random path on one device, neighbours on different ones, or at random.
  Choices drawnMapping(uint64_t kind, Rng &rng) const {
    const size_t devices = input.index.devices.size();
    if (kind == 0)
      return onPath(pathFrom([&](std::span<const uint32_t> next) { return next[rng.below(next.size())]; }),
                    rng.below(devices), rng.below(devices));
    Choices genes(numChoices.size());
    for (size_t unit = 0; unit < genes.size(); ++unit)
      genes[unit] = static_cast<uint8_t>(rng.below(numChoices[unit]));
    if (kind == 1)
      return genes;
    for (OperatorId op : input.topological) {
      const uint32_t unit = units.unitOf[op.index()];
      std::vector<int> taken(numChoices[unit]);
      for (uint32_t before : input.index.predecessors(op))
        if (numChoices[units.unitOf[before]] == taken.size())
          ++taken[genes[units.unitOf[before]]];
      const size_t start = rng.below(taken.size());
      std::rotate(taken.begin(), taken.begin() + static_cast<ptrdiff_t>(start), taken.end());
      const auto least = static_cast<size_t>(std::min_element(taken.begin(), taken.end()) - taken.begin());
      genes[unit] = static_cast<uint8_t>((least + start) % taken.size());
    }
    return genes;
  }

  const SolverInput &input;
  Units units;
  std::vector<std::vector<DeviceId>> allowed; ///< Per unit.
  std::vector<uint8_t> numChoices;            ///< Per unit.
};

void byTime(std::vector<Mapped> &mappings) {
  std::stable_sort(mappings.begin(), mappings.end(),
                   [](const Mapped &a, const Mapped &b) { return a.makespanNs < b.makespanNs; });
}

double foldDistance(const TrainingSet &set, uint64_t seed, const Trainer &train) {
  return set.numRows() < 2 * kFolds ? -1 : kendallDistance(set.targets, crossPredict(set, kFolds, seed, train));
}

/// A mapping in the best order found: of a few operators an optimal one.
TimedSchedule orderMapping(const SolverInput &input, std::vector<DeviceId> placement, int64_t evaluations) {
  PlacementProblem pinned = input.problem;
  pinned.pinned = std::move(placement);
  const StepIndex index(pinned);
  SolverInput own{pinned, input.routes, index, input.topological, input.budget, input.seed, 1};
  own.budget.evaluations = evaluations;
  TimedSchedule start{scheduleAsHeft(own, pinned.pinned)};
  start.makespanNs = Evaluator(index).makespanNs(start.schedule.placement, start.schedule.order);
  TimedSchedule best = searchNeighbourhoods(own, {&start, 1});
  if (isSmallEnough(own))
    searchExhaustively(own, best.schedule, best.makespanNs);
  return best;
}

} // namespace

Expected<ListSchedule> placeHtfMpr(const SolverInput &input) {
  Mapper mapper(input);
  const int64_t evaluations = std::max<int64_t>(input.budget.evaluations, 2);
  std::vector<Mapped> mappings =
      mapper.initialMappings(static_cast<size_t>(std::min((evaluations + 2) / 3, kMappings)));
  auto measured = static_cast<int64_t>(mappings.size());
  std::erase_if(mappings, [](const Mapped &mapped) { return mapped.makespanNs == kInfeasibleObjective; });
  if (mappings.empty())
    return makeError(
        ErrorCode::Infeasible, "none of ", measured, " mappings of graph '", input.problem.graph->name,
        "' keeps within the capacities of the memories, use placement solver 'best' or raise the capacities");
  byTime(mappings);

  ListSchedule result;
  const BoostingParams params = mapper.boosting(mapper.trainingSet(mappings, MappingEncoding::OneHot));
  for (int64_t round = 0; round < kRounds; ++round) {
    const TrainingSet set = mapper.trainingSet(mappings, MappingEncoding::OneHot);
    const auto places = std::min<int64_t>(kPromising, (evaluations - measured) / (kRounds + 1));
    if (set.numFeatures == 0 || set.numRows() < 2 * kFolds || places < 1 || input.budget.mustStop())
      break;
    if (round == 0)
      result.foldDistance = foldDistance(set, input.seed, boostedTrainer(params));
    const std::vector<Mapped> promising =
        mapper.measure(mapper.predictedBest(mappings, BoostedTrees::train(set, params), static_cast<size_t>(places)));
    measured += static_cast<int64_t>(promising.size());
    for (const Mapped &mapped : promising)
      if (mapped.makespanNs != kInfeasibleObjective)
        mappings.push_back(mapped);
    byTime(mappings);
  }
  // The best of all measured, each in the best order that is found.
  const auto places = static_cast<size_t>(std::clamp<int64_t>((evaluations - measured) / kOrders, 1, kFinalists));
  std::vector<TimedSchedule> timed(std::min(places, mappings.size()));
  const int64_t share = std::max<int64_t>((evaluations - measured) / static_cast<int64_t>(timed.size()), 1);
  parallelFor(input.threads, timed.size(),
              [&](size_t i) { timed[i] = orderMapping(input, mapper.placementOf(mappings[i].genes), share); });
  std::stable_sort(timed.begin(), timed.end(),
                   [](const TimedSchedule &a, const TimedSchedule &b) { return a.makespanNs < b.makespanNs; });
  result.placement = std::move(timed.front().schedule.placement);
  result.order = std::move(timed.front().schedule.order);
  for (size_t i = 1; i < std::min(timed.size(), kRunnersUp + 1); ++i)
    result.runnersUp.push_back(std::move(timed[i].schedule.placement));
  result.evaluations = std::max(evaluations, measured);
  result.stoppedByClock = input.budget.mustStop();
  return result;
}

Expected<PredictorErrors> measureMappingPredictors(const PlacementProblem &problem, size_t mappings, uint64_t seed,
                                                   int threads) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<OperatorId> topological, checkedOrder(problem));
  const Routes routes(*problem.machine);
  const StepIndex index(problem);
  const SolverInput input{problem, routes, index, topological, {}, seed, threads};
  Mapper mapper(input);
  const std::vector<Mapped> measured = mapper.initialMappings(mappings);
  const TrainingSet oneHot = mapper.trainingSet(measured, MappingEncoding::OneHot);
  const TrainingSet integers = mapper.trainingSet(measured, MappingEncoding::Integer);
  PredictorErrors errors;
  errors.mappings = oneHot.numRows();
  errors.boosted = foldDistance(oneHot, seed, boostedTrainer(mapper.boosting(oneHot)));
  errors.integerEncoded = foldDistance(integers, seed, boostedTrainer(mapper.boosting(integers)));
  errors.linear = foldDistance(oneHot, seed, linearTrainer());
  errors.integerLinear = foldDistance(integers, seed, linearTrainer());
  return errors;
}

} // namespace sluice
