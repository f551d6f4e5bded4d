//===- BucketBounds.cpp - Which sizes have a plan of their own ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BucketBounds.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Search/Buckets.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Text.h"

#include <numeric>

using namespace mlir;

namespace sluice {

namespace {

using Point = std::vector<int64_t>;

/// Each candidate is planned: not too many.
constexpr size_t kMostCandidates = 24;

/// The symbol whose bounds are chosen.
Expected<size_t> findChosen(dataflow::SymbolsAttr symbols, const CompilerOptions &options) {
  const std::string &wanted = options.buckets.dim;
  std::vector<size_t> found;
  std::vector<std::string> known;
  for (size_t s = 0; symbols && s < symbols.size(); ++s) {
    const std::string name = symbols.getNames()[s].str();
    auto range = options.dims.ranges.find(name);
    const bool isListed = range != options.dims.ranges.end() && !range->second.buckets.empty();
    if (wanted.empty() ? !isListed : name == wanted)
      found.push_back(s);
    known.push_back(name);
    if (name == wanted && isListed)
      return makeError(
          ErrorCode::InvalidInput, "dimension '", name,
          "' has a list of sizes, so --buckets has nothing to choose, option '--buckets', leave this option out or "
          "give a range by --dim ",
          name, "=LEAST..MOST");
  }
  if (found.size() == 1)
    return found.front();
  if (known.empty())
    return makeError(
        ErrorCode::InvalidInput,
        "no dimension of the model has a range, option '--buckets', give a range by --dim NAME=LEAST..MOST");
  return makeError(ErrorCode::InvalidInput,
                   wanted.empty() ? concat(found.size(), " dimensions have a range without a list of sizes")
                                  : concat("dimension '", wanted, "' has no range"),
                   ", option '--buckets', give one with a range: ", alternatives(known), ", as in --buckets ",
                   known.front(), "=auto:4");
}

/// The sizes that come, ascending, each as often as it does: the file's, or each of the range once.
Expected<std::vector<int64_t>> sizesOf(int64_t least, int64_t most, int64_t step, const std::string &file) {
  if (!file.empty())
    return readSizes(file, least, most, step);
  // Of a range too large to list, sizes at equal distances.
  const int64_t stride = step * ((most - least) / step / BucketProblem::kMostCounts + 1);
  std::vector<int64_t> sizes;
  for (int64_t size = most; size >= least; size -= stride)
    sizes.push_back(size);
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

/// Candidates for bounds, each with the number of sizes between it and the one before: all sizes that come, or those
/// that divide them into equal parts. The last one is `most`.
void addCandidates(const std::vector<int64_t> &sizes, int64_t most, BucketProblem &problem) {
  std::vector<int64_t> distinct = sizes;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.back() != most)
    distinct.push_back(most);
  if (distinct.size() > kMostCandidates) {
    std::vector<int64_t> kept;
    for (size_t q = 1; q <= kMostCandidates; ++q)
      if (const int64_t size = sizes[sizes.size() * q / kMostCandidates - 1]; kept.empty() || kept.back() != size)
        kept.push_back(size);
    if (kept.back() != most)
      kept.push_back(most);
    distinct = std::move(kept);
  }
  problem.sizes = std::move(distinct);
  problem.counts.assign(problem.sizes.size(), 0);
  for (size_t i = 0; int64_t size : sizes) {
    while (problem.sizes[i] < size)
      ++i;
    ++problem.counts[i];
  }
}

/// Gives symbols that a step finds their greatest values at those of the others: what their tensors have room for.
void boundFound(func::FuncOp program, Point &bounds) {
  const dataflow::SymbolsAttr symbols = dataflow::symbolsOf(program.getOperation());
  Point rooms(bounds.size(), 0);
  // Operators stand behind those that find their symbols.
  program.walk([&](dataflow::TakeFirstOp take) {
    const auto dim = static_cast<size_t>(take.getDim());
    const size_t symbol = take.getSymbol();
    if (dataflow::extentsOf(take.getResult())[dim].isConstant())
      return;
    rooms[symbol] = std::max(rooms[symbol], dataflow::extentsOf(take.getInput())[dim].at(bounds));
    bounds[symbol] = std::clamp(rooms[symbol], symbols.getLeast()[symbol], symbols.getMost()[symbol]);
  });
}

/// Times by simulation of each candidate's plan at each size that it serves; sizes between candidates count as the
/// next.
Status addPlans(const Planned &planned, const Point &upper, size_t symbol, const CompilerOptions &options,
                BucketProblem &problem) {
  SearchParams params = searchParams(options);
  // All of them together search as long as one plan does.
  const auto count = static_cast<int64_t>(problem.sizes.size());
  params.timeNs = params.timeNs / count;
  params.evaluations = params.evaluations > 0 ? std::max<int64_t>(params.evaluations / count, 1) : 0;
  params.progress = {};
  std::vector<std::shared_ptr<const Bucket>> buckets;
  for (size_t i = 0; i < problem.sizes.size(); ++i) {
    Point bounds = upper;
    bounds[symbol] = problem.sizes[i];
    boundFound(planned.fused->main(), bounds);
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Bucket> bucket, bucketAt(*planned.fused, bounds));
    buckets.push_back(bucket);
    const bool isWhole = i + 1 == problem.sizes.size();
    SearchResult result = planned.result;
    if (!isWhole) {
      SLUICE_ASSIGN_OR_RETURN(SearchResult found, solveSearch(problemOf(planned, *bucket), params));
      result = std::move(found);
    }
    const std::vector<int64_t> &arenas = result.plan.arenaBytes;
    problem.bytes.push_back(std::accumulate(arenas.begin(), arenas.end(), int64_t(0)));
    std::vector<int64_t> &row = problem.ns.emplace_back();
    for (size_t j = 0; j <= i; ++j)
      row.push_back(
          std::min(simulate(bucket->graph, planned.fused->measured, buckets[j]->costs, result.plan).makespanNs,
                   BucketProblem::kMostNs));
  }
  return {};
}

} // namespace

Expected<std::shared_ptr<const Bucket>> bucketAt(const Fused &fused, const std::vector<int64_t> &bounds) {
  SLUICE_ASSIGN_OR_RETURN(Graph graph, graphAt(fused.main(), fused.bridge, bounds));
  CostTable costs = fused.costsOf(graph);
  return std::make_shared<const Bucket>(Bucket{bounds, std::move(graph), std::move(costs)});
}

SearchProblem problemOf(const Planned &planned, const Bucket &bucket) {
  SearchProblem problem = planned.problem;
  problem.graph = &bucket.graph;
  problem.costs = &bucket.costs;
  return problem;
}

Expected<std::vector<Point>> bucketBounds(Planned &planned, const CompilerOptions &options) {
  constexpr size_t kMostBuckets = 64;
  const dataflow::SymbolsAttr symbols = dataflow::symbolsOf(planned.fused->main().getOperation());
  std::optional<size_t> chosen;
  if (options.buckets.count > 0) {
    SLUICE_ASSIGN_OR_RETURN(size_t found, findChosen(symbols, options));
    chosen = found;
  }
  if (!symbols)
    return std::vector<Point>();
  const Point upper(symbols.getMost());
  std::vector<Point> all{{}};
  for (size_t s = 0; s < symbols.size(); ++s) {
    Point bounds;
    if (auto range = options.dims.ranges.find(symbols.getNames()[s].str()); range != options.dims.ranges.end())
      bounds = range->second.buckets;
    bounds.push_back(upper[s]);
    if (chosen == s) {
      SLUICE_ASSIGN_OR_RETURN(
          const std::vector<int64_t> sizes,
          sizesOf(symbols.getLeast()[s], upper[s], symbols.getSteps()[s], options.buckets.sizesFile));
      BucketProblem problem;
      addCandidates(sizes, upper[s], problem);
      SLUICE_RETURN_IF_ERROR(addPlans(planned, upper, s, options, problem));
      planned.bucketTable = {symbols.getNames()[s].str(),
                             chooseBuckets(problem, static_cast<size_t>(options.buckets.count))};
      bounds = planned.bucketTable.choices.back().bounds;
    }
    std::vector<Point> longer;
    for (const Point &first : all)
      for (int64_t bound : bounds) {
        longer.push_back(first);
        longer.back().push_back(bound);
      }
    all = std::move(longer);
    if (all.size() > kMostBuckets)
      return makeError(ErrorCode::Unsupported, "the lists of sizes make more than ", kMostBuckets,
                       " buckets (combinations of sizes with a plan each), option '--dim', give fewer sizes");
  }
  all.pop_back(); // The upper bounds.
  for (Point &bounds : all)
    boundFound(planned.fused->main(), bounds);
  return all;
}

} // namespace sluice
