//===- Cuts.cpp - Where a program is cut into stages ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Cuts.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice {

namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

/// Best values of all ways to cut a prefix of the operators, and how they are reached.
class CutTable {
public:
  CutTable(size_t stages, size_t operators)
      : width(operators + 1), values((stages + 1) * width, kNone), begins(values.size()) {}

  int64_t &value(size_t stages, size_t end) { return values[stages * width + end]; }
  size_t &from(size_t stages, size_t end) { return begins[stages * width + end]; }

private:
  size_t width;
  std::vector<int64_t> values;
  std::vector<size_t> begins;
};

class CutSolver {
public:
  explicit CutSolver(const CutProblem &problem)
      : problem(problem), stages(static_cast<size_t>(problem.stages)), count(problem.workNs.size()), sums(count + 1) {
    for (size_t i = 0; i < count; ++i)
      sums[i + 1] = saturatingAdd(sums[i], problem.workNs[i]);
  }

  /// The pace of a stage of the operators [begin, end), with the transfers at its begin.
  int64_t paceOf(size_t begin, size_t end) const {
    const int64_t work = sums[end] - sums[begin];
    return begin > 0 ? std::max(work, problem.transferNs(begin)) : work;
  }

  int64_t leastPace() const {
    return solve([&](int64_t before, size_t begin, size_t end) { return std::max(before, paceOf(begin, end)); })
        .value(stages, count);
  }

  std::vector<size_t> fewestBytes(int64_t most) const {
    CutTable table = solve([&](int64_t before, size_t begin, size_t end) {
      return paceOf(begin, end) > most ? kNone : saturatingAdd(before, problem.crossingBytes[begin]);
    });
    std::vector<size_t> firsts(stages);
    for (size_t s = stages, end = count; s > 0; --s)
      firsts[s - 1] = end = table.from(s, end);
    return firsts;
  }

private:
  /// `extend(before, begin, end)`: the value with one more stage [begin, end); kNone where that may not be.
  template <typename Extend>
  CutTable solve(const Extend &extend) const {
    CutTable table(stages, count);
    table.value(0, 0) = 0;
    for (size_t s = 1; s <= stages; ++s)
      for (size_t end = s; end <= count; ++end)
        for (size_t begin = s - 1; begin < end; ++begin) {
          const int64_t before = table.value(s - 1, begin);
          const int64_t value = before == kNone ? kNone : extend(before, begin, end);
          if (value < table.value(s, end))
            table.value(s, end) = value, table.from(s, end) = begin;
        }
    return table;
  }

  const CutProblem &problem;
  size_t stages, count;
  std::vector<int64_t> sums;
};

} // namespace

int64_t CutProblem::transferNs(size_t before) const {
  if (crossingBytes[before] == 0)
    return 0;
  const double ns = 2 * static_cast<double>(crossingBytes[before]) / bytesPerSec * 1e9;
  return saturatingAdd(static_cast<int64_t>(std::min(std::ceil(ns), 0x1p60)), saturatingMul(latencyNs, 2));
}

Status CutProblem::check() const {
  constexpr size_t kMostOperators = 20'000;
  if (workNs.empty() || workNs.size() > kMostOperators || crossingBytes.size() != workNs.size())
    return makeError(ErrorCode::InvalidInput, "a pipeline cannot be cut from a program of ", workNs.size(),
                     " operators with ", crossingBytes.size(), " places for cuts, give 1 to ", kMostOperators,
                     " operators, and as many places as operators");
  // Sums stay exact, and far below what means that there is no cut.
  constexpr int64_t kMostSum = int64_t(1) << 60;
  auto sumOf = [](const std::vector<int64_t> &numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), int64_t(0),
                           [](int64_t sum, int64_t number) { return saturatingAdd(sum, number); });
  };
  auto isNegative = [](int64_t number) { return number < 0; };
  if (std::any_of(workNs.begin(), workNs.end(), isNegative) ||
      std::any_of(crossingBytes.begin(), crossingBytes.end(), isNegative) || crossingBytes.front() != 0)
    return makeError(ErrorCode::InvalidInput,
                     "a time or size of the program to cut into a pipeline is negative, or its first place for a cut "
                     "(before all operators) has bytes, give numbers from 0, and 0 bytes for the first place");
  if (sumOf(workNs) > kMostSum || sumOf(crossingBytes) > kMostSum)
    return makeError(ErrorCode::InvalidInput,
                     "the times or the bytes of the program to cut into a pipeline add up to more than ", kMostSum,
                     ", give smaller numbers");
  if (!(bytesPerSec > 0) || latencyNs < 0 || latencyNs > kMostSum || !(slack >= 0) || slack > 1)
    return makeError(
        ErrorCode::InvalidInput, "a rate of ", bytesPerSec, " bytes per second, a latency of ", latencyNs,
        " ns or a slack of ", slack,
        " is out of range for cutting a pipeline, give a positive rate, a latency from 0 and a slack from 0 to 1");
  constexpr double kMostSteps = 1e11;
  const auto count = static_cast<double>(workNs.size());
  if (stages > 0 && static_cast<double>(stages) * count * count > kMostSteps)
    return makeError(ErrorCode::Unsupported, "cutting a pipeline of ", workNs.size(), " operators into ", stages,
                     " stages takes too long, give fewer stages or join operators into groups");
  if (stages < 1 || static_cast<size_t>(stages) > workNs.size())
    return makeError(ErrorCode::InvalidInput, "a pipeline of ", workNs.size(), " operators cannot be cut into ", stages,
                     " stages, give 1 to ", workNs.size(), " stages");
  return {};
}

Expected<CutSolution> solveCuts(const CutProblem &problem) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  const CutSolver solver(problem);
  const int64_t least = solver.leastPace();
  const auto most = static_cast<int64_t>(std::min(static_cast<double>(least) * (1 + problem.slack), 0x1p62));
  CutSolution solution;
  solution.firsts = solver.fewestBytes(std::max(least, most));
  for (size_t s = 0; s < solution.firsts.size(); ++s) {
    const size_t end = s + 1 < solution.firsts.size() ? solution.firsts[s + 1] : problem.workNs.size();
    solution.paceNs = std::max(solution.paceNs, solver.paceOf(solution.firsts[s], end));
    solution.bytes = saturatingAdd(solution.bytes, problem.crossingBytes[solution.firsts[s]]);
  }
  SLUICE_RETURN_IF_ERROR(validateCuts(problem, solution));
  return solution;
}

} // namespace sluice
