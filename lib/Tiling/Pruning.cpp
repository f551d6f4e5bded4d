//===- Pruning.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Pruning.h"

#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {

static constexpr int64_t kMostParts = 1024;
/// Weights looked at by all restarts together, about.
static constexpr int64_t kWork = 400'000'000;
static constexpr int64_t kMostRestarts = 32;

Status PruneProblem::check() const {
  auto refuse = [](const auto &...what) { return makeError(ErrorCode::InvalidInput, what...); };
  if (rows < 1 || columns < 1 || rows > std::numeric_limits<int32_t>::max() ||
      columns > std::numeric_limits<int32_t>::max() || weights.size() != static_cast<size_t>(rows * columns))
    return refuse("a layer of ", rows, " by ", columns, " nodes does not have ", weights.size(), " weights");
  if (parts < 2 || parts > kMostParts)
    return refuse(parts, " partitions are out of range, use 2 to ", kMostParts);
  if (parts > std::min(rows, columns))
    return refuse(parts, " partitions are too many for ", rows, " inputs and ", columns,
                  " outputs, because each partition needs an input and an output of its own, use ",
                  std::min(rows, columns), " or fewer");
  if (std::any_of(weights.begin(), weights.end(), [](float weight) { return !std::isfinite(weight); }))
    return refuse("a weight of the layer is not finite, correct the weight or leave the layer out");
  return {};
}

namespace {
/// One side's nodes and the room in parts.
struct Side {
  std::vector<uint32_t> part;
  std::vector<int64_t> room; ///< Per part.

  Side(int64_t nodes, int64_t parts) : part(static_cast<size_t>(nodes), kNone), room(static_cast<size_t>(parts)) {
    for (int64_t p = 0; p < parts; ++p)
      room[static_cast<size_t>(p)] = nodes / parts + (p < nodes % parts);
  }
  void put(size_t node, uint32_t where) {
    part[node] = where;
    --room[where];
  }
  static constexpr uint32_t kNone = ~uint32_t(0);
};

class Pruner {
public:
  explicit Pruner(const PruneProblem &problem)
      : problem(problem), rows(static_cast<size_t>(problem.rows)), columns(static_cast<size_t>(problem.columns)),
        parts(static_cast<size_t>(problem.parts)) {}

  PruneSolution run(Rng rng) const {
    Side row(problem.rows, problem.parts), column(problem.columns, problem.parts);
    grow(row, column, rng);
    PruneSolution solution;
    solution.kept = keptBy(row.part, column.part);
    for (;;) {
      divide(row.part, column.part, /*ofRows=*/true);
      divide(column.part, row.part, /*ofRows=*/false);
      const double kept = keptBy(row.part, column.part);
      // Sums in other orders differ by rounding: what is gained is more.
      const bool gains = kept > solution.kept * (1 + 1e-9);
      solution.kept = kept;
      if (!gains)
        break;
    }
    solution.rowPart = std::move(row.part);
    solution.columnPart = std::move(column.part);
    return solution;
  }

  double keptBy(const std::vector<uint32_t> &row, const std::vector<uint32_t> &column) const {
    double sum = 0;
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        if (row[i] == column[j])
          sum += magnitude(i, j);
    return sum;
  }

  double total() const {
    double sum = 0;
    for (float weight : problem.weights)
      sum += std::fabs(weight);
    return sum;
  }

private:
  double magnitude(size_t row, size_t column) const { return std::fabs(problem.weights[row * columns + column]); }

  /// Section 8.3: a random row opens a part with its greatest free columns, or joins the one whose columns give it
  /// more.
  void grow(Side &row, Side &column, Rng &rng) const {
    std::vector<uint32_t> order(rows);
    std::iota(order.begin(), order.end(), 0u);
    rng.shuffle(order);
    std::vector<uint32_t> free(columns);
    std::iota(free.begin(), free.end(), 0u);
    uint32_t opened = 0;
    for (size_t next = 0; next < rows; ++next) {
      const size_t i = order[next];
      std::vector<double> joining(parts, 0);
      for (size_t j = 0; j < columns; ++j)
        if (column.part[j] != Side::kNone)
          joining[column.part[j]] += magnitude(i, j);
      uint32_t best = Side::kNone;
      for (uint32_t p = 0; p < opened; ++p)
        if (row.room[p] > 0 && (best == Side::kNone || joining[p] > joining[best]))
          best = p;
      if (opened < parts) {
        const auto room = static_cast<size_t>(column.room[opened]);
        auto greater = [&](uint32_t a, uint32_t b) {
          return std::pair(-magnitude(i, a), a) < std::pair(-magnitude(i, b), b);
        };
        std::nth_element(free.begin(), free.begin() + static_cast<ptrdiff_t>(room) - 1, free.end(), greater);
        double opening = 0;
        for (size_t k = 0; k < room; ++k)
          opening += magnitude(i, free[k]);
        if (best == Side::kNone || opening >= joining[best] || rows - next <= parts - opened) {
          best = opened++;
          for (size_t k = 0; k < room; ++k)
            column.put(free[k], best);
          free.erase(free.begin(), free.begin() + static_cast<ptrdiff_t>(room));
        }
      }
      row.put(i, best);
    }
  }

  /// Divides the nodes of each two parts of one side anew: those that lose most by being in the second come first.
  void divide(std::vector<uint32_t> &part, const std::vector<uint32_t> &other, bool ofRows) const {
    std::vector<double> sums(part.size() * parts, 0);
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        sums[ofRows ? i * parts + other[j] : j * parts + other[i]] += magnitude(i, j);
    std::vector<std::vector<uint32_t>> members(parts);
    for (uint32_t node = 0; node < part.size(); ++node)
      members[part[node]].push_back(node);
    bool gained = true;
    // Each round gains; rounding cannot make it go on for ever.
    for (int round = 0; gained && round < 100; ++round) {
      gained = false;
      for (size_t a = 0; a < parts; ++a)
        for (size_t b = a + 1; b < parts; ++b) {
          std::vector<uint32_t> both = members[a];
          both.insert(both.end(), members[b].begin(), members[b].end());
          auto prefers = [&](uint32_t node) { return sums[node * parts + a] - sums[node * parts + b]; };
          double before = 0, after = 0;
          for (uint32_t node : members[a])
            before += prefers(node);
          std::sort(both.begin(), both.end(),
                    [&](uint32_t x, uint32_t y) { return std::pair(-prefers(x), x) < std::pair(-prefers(y), y); });
          const auto middle = both.begin() + static_cast<ptrdiff_t>(members[a].size());
          for (auto node = both.begin(); node != middle; ++node)
            after += prefers(*node);
          if (!(after > before + 1e-12 * std::fabs(before)))
            continue;
          gained = true;
          members[a].assign(both.begin(), middle);
          members[b].assign(middle, both.end());
        }
    }
    for (uint32_t p = 0; p < parts; ++p)
      for (uint32_t node : members[p])
        part[node] = p;
  }

  const PruneProblem &problem;
  size_t rows, columns, parts;
};
} // namespace

Expected<PruneSolution> solvePruning(const PruneProblem &problem, const PruneParams &params) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  const Pruner pruner(problem);
  const auto size = static_cast<int64_t>(problem.weights.size());
  // A start looks at each weight some ten times.
  const int64_t restarts =
      params.restarts > 0 ? params.restarts : std::clamp<int64_t>(kWork / (10 * size), 1, kMostRestarts);
  std::vector<PruneSolution> found(static_cast<size_t>(restarts));
  const Rng root(params.seed);
  parallelFor(params.threads, found.size(), [&](size_t i) { found[i] = pruner.run(root.fork(i)); });
  PruneSolution best = *std::max_element(
      found.begin(), found.end(), [](const PruneSolution &a, const PruneSolution &b) { return a.kept < b.kept; });
  best.total = pruner.total();
  SLUICE_RETURN_IF_ERROR(validatePruning(problem, best));
  return best;
}

Status validatePruning(const PruneProblem &problem, const PruneSolution &solution) {
  auto refuse = [](const auto &...what) { return makeError(ErrorCode::Internal, what...); };
  auto isBalanced = [&](const std::vector<uint32_t> &part, int64_t nodes) {
    std::vector<int64_t> sizes(static_cast<size_t>(problem.parts));
    for (uint32_t p : part)
      if (p < sizes.size())
        ++sizes[p];
    const auto larger = std::count(sizes.begin(), sizes.end(), nodes / problem.parts + 1);
    const auto smaller = std::count(sizes.begin(), sizes.end(), nodes / problem.parts);
    return part.size() == static_cast<size_t>(nodes) && larger == nodes % problem.parts &&
           larger + smaller == problem.parts;
  };
  if (!isBalanced(solution.rowPart, problem.rows) || !isBalanced(solution.columnPart, problem.columns))
    return refuse("partitions are not balanced");
  double kept = 0, lost = 0;
  for (size_t i = 0; i < problem.weights.size(); ++i) {
    const auto width = static_cast<size_t>(problem.columns);
    (solution.rowPart[i / width] == solution.columnPart[i % width] ? kept : lost) += std::fabs(problem.weights[i]);
  }
  const double slack = 1e-6 * (kept + lost);
  if (std::fabs(kept - solution.kept) > slack || std::fabs(kept + lost - solution.total) > slack)
    return refuse("partitions keep ", kept, " of ", kept + lost, ", not ", solution.kept, " of ", solution.total);
  return {};
}

} // namespace sluice
