//===- PeriodSearch.cpp - Planning a few of many equal layers -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search runs on a graph with a few layers, in a memory of the same share between
// minimum and peak. The decisions of its fastest candidates are then repeated for all
// layers, and each of these is planned and simulated in full.
//
//===----------------------------------------------------------------------===//

#include "ResultBounds.h"
#include "Strategies.h"

#include "sluice/Search/Repetition.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice::search {

/// Layers of the small graph. A plan must have room for what several layers have under way.
static constexpr int64_t kKeptLayers = 8;
/// Fewer layers are planned as they are.
static constexpr size_t kLeastLayers = 10;
/// The search of a graph with more than this share of the operators is hardly faster than that of the whole graph.
static constexpr double kLargestShare = 0.7;
/// Candidates that are extended to all layers; each also with these lengths of its stretches, relative to its own.
static constexpr size_t kExtended = 4;
static constexpr std::pair<double, const char *> kStretches[] = {
    {1.0, "/again"}, {0.5, "/again-shorter"}, {2.0, "/again-longer"}};
static_assert(kExtended * (1 + std::size(kStretches)) <= PeriodCandidates::kMost);

/// Per memory: capacities of the same shares for the small graph.
static std::vector<int64_t> scaledCapacities(const SearchState &state, const FoldedGraph &folded) {
  const Schedule order = modelOrder(state.graph), foldedOrder = modelOrder(folded.graph());
  const SwapProblem whole = state.space->problemFor(order);
  const SwapProblem part{folded.graph(), state.machine,   folded.costs(), folded.placement(whole.placement),
                         foldedOrder,    state.capacities};
  const std::vector<MinimumBytes> least = minimumBytes(whole), partLeast = minimumBytes(part);
  const std::vector<int64_t> peak = livenessPeakBytes(whole), partPeak = livenessPeakBytes(part);
  std::vector<int64_t> capacities = state.capacities;
  for (size_t m = 1; m < capacities.size(); ++m) {
    if (state.machine.memories[m].kind == MemoryKind::File || peak[m] <= least[m].bytes || capacities[m] >= peak[m])
      continue;
    const double share =
        static_cast<double>(capacities[m] - least[m].bytes) / static_cast<double>(peak[m] - least[m].bytes);
    capacities[m] = std::min(
        capacities[m], alignUp(partLeast[m].bytes +
                               static_cast<int64_t>(share * static_cast<double>(partPeak[m] - partLeast[m].bytes))));
  }
  return capacities;
}

PeriodCandidates candidatesByPeriod(SearchState &state, const PeriodBudget &budget) {
  PeriodCandidates result;
  std::vector<NamedCandidate> &extended = result.candidates;
  if (state.graph.keepsOrder)
    return result;
  const std::optional<Repetition> repetition =
      findRepetition(state.graph, state.costs, state.space->placement(), kLeastLayers);
  const std::optional<FoldedGraph> folded =
      repetition ? FoldedGraph::of(state.graph, state.costs, *repetition, kKeptLayers) : std::nullopt;
  if (!folded)
    return result;
  result.share = static_cast<double>(folded->graph().numOperators()) / static_cast<double>(state.graph.numOperators());
  if (result.share > kLargestShare)
    return result;
  SearchProblem problem{&folded->graph(), &state.machine, &folded->costs(), scaledCapacities(state, *folded),
                        folded->placement(state.space->placement())};
  SearchParams params = state.params;
  params.mayRecompute = state.recomputes();
  params.solver = "default";
  params.start = nullptr;
  params.progress = nullptr;
  params.evaluations = budget.evaluations;
  params.timeNs = budget.timeNs;
  SearchState inner(problem, params);
  inner.space = inner.spaceFor(problem.placement, {});
  boundAllPlacements(
      {inner.graph, inner.machine, inner.costs, inner.capacities, inner.space->placement(), problem.placement},
      inner.result);
  std::vector<ScoredCandidate> scored = planSeeds(inner, greedySeeds(inner));
  if (!scored.empty())
    scored.insert(scored.begin(), improve(inner, scored));
  state.result.evaluations += inner.result.evaluations;
  state.isStopped |= inner.isStopped;
  size_t count = 0;
  std::vector<RecomputeRecipe> recipes;
  auto add = [&](std::optional<Candidate> genes, std::string_view change) {
    if (genes)
      extended.push_back({concat("by-period/", count, change), std::move(*genes)});
  };
  for (const ScoredCandidate &candidate : scored) {
    if (++count > kExtended)
      break;
    std::optional<Candidate> genes = state.space->extended(candidate.genes, *folded);
    if (!genes)
      continue;
    // The best length of stretches depends on the number of layers.
    const std::shared_ptr<const RecomputedProblem> recomputed = candidate.genes.recomputed;
    if (recomputed && recomputed->recipe)
      for (const auto &[factor, change] : kStretches) {
        RecomputeRecipe recipe = *recomputed->recipe;
        recipe.stretch *= factor;
        if (std::find(recipes.begin(), recipes.end(), recipe) != recipes.end())
          continue;
        recipes.push_back(recipe);
        add(state.space->recomputing(*genes, recipe), change);
      }
    add(std::move(genes), "");
  }
  return result;
}

} // namespace sluice::search
