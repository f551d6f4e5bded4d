//===- OperatorSplit.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/OperatorSplit.h"

#include <algorithm>
#include <map>
#include <optional>

namespace sluice {

bool splitsAlone(const TilingRule &rule) {
  return rule.dividesWork && !rule.isStrided() &&
         std::all_of(rule.halos.begin(), rule.halos.end(), [](const Halo &halo) { return halo.empty(); });
}

Status checkSplits(const TensorProgram &program, const std::vector<OperatorSplit> &splits) {
  std::vector<bool> isSplit(program.operators.size());
  for (const OperatorSplit &split : splits) {
    if (split.op.index() >= program.operators.size())
      return makeError(ErrorCode::InvalidInput, "program '", program.name, "' has no operator ", split.op.index(),
                       " to split, name an existing operator");
    const ProgramOperator &op = program.operators[split.op.index()];
    auto refuse = [&](const auto &...parts) {
      return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' ", parts...);
    };
    if (isSplit[split.op.index()])
      return refuse("is split twice, keep one of the splits");
    isSplit[split.op.index()] = true;
    if (split.rule >= op.rules.size())
      return refuse("has no rule number ", split.rule, ", use a number below ", op.rules.size());
    const TilingRule &rule = op.rules[split.rule];
    if (!splitsAlone(rule))
      return refuse("cannot be split by rule '", rule.name, "', whose parts ",
                    !rule.dividesWork  ? "each do all of the work"
                    : rule.isStrided() ? "are strided"
                                       : "read elements of neighbouring parts",
                    ", use another rule");
    if (split.parts < 2 || !rule.dividesEvenly(split.parts))
      return refuse("cannot run as ", split.parts, " parts by rule '", rule.name,
                    "', use a number of at least 2 that divides ", rule.divisor);
  }
  return {};
}

namespace {
/// The dimension along which each tensor is cut.
using Cuts = std::map<TensorId, uint32_t>;

bool agrees(const Cuts &cuts, TensorId tensor, AxisTiling tiling) {
  auto cut = cuts.find(tensor);
  return cut != cuts.end() && tiling == AxisTiling::split(cut->second);
}

/// The rule by which an operator reads a cut tensor part by part, or, without `reads`,
/// writes it part by part.
std::optional<uint32_t> followingRule(const ProgramOperator &op, const Cuts &cuts, int64_t parts, bool reads) {
  for (uint32_t r = 1; r < op.rules.size(); ++r) {
    const TilingRule &rule = op.rules[r];
    bool fits = splitsAlone(rule) && rule.dividesEvenly(parts), touches = false;
    for (size_t i = 0; i < op.operands.size() && reads; ++i)
      if (cuts.contains(op.operands[i])) {
        fits &= agrees(cuts, op.operands[i], rule.operands[i]);
        touches = true;
      }
    for (size_t i = 0; i < op.results.size(); ++i) {
      fits &= rule.results[i].isSplit() && (reads || agrees(cuts, op.results[i], rule.results[i]));
      touches |= !reads;
    }
    if (fits && touches)
      return r;
  }
  return std::nullopt;
}

void addCuts(Cuts &cuts, const std::vector<TensorId> &tensors, const std::vector<AxisTiling> &tilings) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tilings[i].isSplit())
      cuts.emplace(tensors[i], tilings[i].dim);
}
} // namespace

std::vector<OperatorSplit> spreadSplit(const TensorProgram &program, const std::vector<OperatorId> &group,
                                       const OperatorSplit &first) {
  std::vector<OperatorSplit> splits{first};
  const auto at = std::find(group.begin(), group.end(), first.op);
  const ProgramOperator &center = program.operators[first.op.index()];
  Cuts written, read;
  addCuts(written, center.results, center.rules[first.rule].results);
  addCuts(read, center.operands, center.rules[first.rule].operands);
  for (auto later = at == group.end() ? at : at + 1; later != group.end(); ++later) {
    const ProgramOperator &op = program.operators[later->index()];
    if (auto rule = followingRule(op, written, first.parts, /*reads=*/true)) {
      splits.push_back({*later, *rule, first.parts});
      addCuts(written, op.results, op.rules[*rule].results);
    }
  }
  for (auto earlier = std::make_reverse_iterator(at == group.end() ? group.begin() : at); earlier != group.rend();
       ++earlier) {
    const ProgramOperator &op = program.operators[earlier->index()];
    if (auto rule = followingRule(op, read, first.parts, /*reads=*/false)) {
      splits.push_back({*earlier, *rule, first.parts});
      addCuts(read, op.operands, op.rules[*rule].operands);
    }
  }
  std::sort(splits.begin(), splits.end(), [](const auto &a, const auto &b) { return a.op < b.op; });
  return splits;
}

namespace {
class Splitter {
public:
  Splitter(const SplitProblem &problem, const SplitParams &params)
      : problem(problem), program(*problem.program), params(params) {}

  Expected<SplitSolution> run() {
    SLUICE_RETURN_IF_ERROR(program.check());
    SLUICE_ASSIGN_OR_RETURN(SplitTrial whole, problem.run({}));
    solution.trials = 1;
    best = std::move(whole);
    solution.unsplitNs = best.makespanNs;
    for (bool gained = true; gained && mayTry();) {
      gained = false;
      const std::vector<SplitTrial::Stretch> dominant = dominantStretches();
      for (size_t i = 0; i < dominant.size() && !gained && mayTry(); ++i) {
        SLUICE_ASSIGN_OR_RETURN(bool better, splitStretch(dominant[i]));
        gained = better;
      }
    }
    solution.makespanNs = best.makespanNs;
    solution.stoppedByClock = params.budget.mustStop();
    return std::move(solution);
  }

private:
  bool mayTry() const { return solution.trials < params.budget.evaluations && !params.budget.mustStop(); }

  /// Adds up the parts of each group, because the critical path may pass through several.
  std::vector<SplitTrial::Stretch> dominantStretches() const {
    std::map<std::vector<OperatorId>, int64_t> total;
    for (const SplitTrial::Stretch &stretch : best.critical)
      if (!stretch.operators.empty())
        total[stretch.operators] += stretch.ns;
    std::vector<SplitTrial::Stretch> dominant;
    for (const auto &[operators, ns] : total)
      if (static_cast<double>(ns) >= params.leastShare * static_cast<double>(best.makespanNs))
        dominant.push_back({operators, ns});
    std::stable_sort(dominant.begin(), dominant.end(), [](const auto &a, const auto &b) { return a.ns > b.ns; });
    return dominant;
  }

  /// The ways to split a group's largest operator, one after the other: every rule in
  /// as many parts as come closest to the middle, then the best rule in other numbers.
  Expected<bool> splitStretch(const SplitTrial::Stretch &stretch) {
    const OperatorId center =
        *std::max_element(stretch.operators.begin(), stretch.operators.end(), [&](OperatorId a, OperatorId b) {
          return program.operators[a.index()].flops < program.operators[b.index()].flops;
        });
    const std::vector<TilingRule> &rules = program.operators[center.index()].rules;
    std::optional<OperatorSplit> chosen;
    auto offer = [&](uint32_t rule, int64_t parts) -> Status {
      const OperatorSplit split{center, rule, parts};
      SLUICE_ASSIGN_OR_RETURN(bool better, tryOut(stretch.operators, split));
      if (better)
        chosen = split;
      return {};
    };
    auto allowed = [&](uint32_t rule) {
      std::vector<int64_t> numbers;
      for (int64_t parts = 2; parts <= problem.mostParts; ++parts)
        if (splitsAlone(rules[rule]) && rules[rule].dividesEvenly(parts))
          numbers.push_back(parts);
      return numbers;
    };
    for (uint32_t rule = 1; rule < rules.size() && mayTry(); ++rule)
      if (const std::vector<int64_t> numbers = allowed(rule); !numbers.empty())
        SLUICE_RETURN_IF_ERROR(offer(rule, numbers[numbers.size() / 2]));
    if (!chosen)
      return false;
    const OperatorSplit middle = *chosen;
    for (int64_t parts : allowed(middle.rule))
      if (parts != middle.parts && mayTry())
        SLUICE_RETURN_IF_ERROR(offer(middle.rule, parts));
    return true;
  }

  /// Times the program with the group split so, and keeps the split if it is faster than the best.
  Expected<bool> tryOut(const std::vector<OperatorId> &group, const OperatorSplit &split) {
    std::vector<OperatorSplit> splits;
    for (const OperatorSplit &kept : solution.splits)
      if (!std::binary_search(group.begin(), group.end(), kept.op))
        splits.push_back(kept);
    for (const OperatorSplit &added : spreadSplit(program, group, split))
      splits.push_back(added);
    std::sort(splits.begin(), splits.end(), [](const auto &a, const auto &b) { return a.op < b.op; });
    if (splits == solution.splits)
      return false;
    ++solution.trials;
    Expected<SplitTrial> trial = problem.run(splits);
    if (!trial)
      return trial.error().code == ErrorCode::Infeasible ? Expected<bool>(false) : propagate(trial);
    if (static_cast<double>(trial->makespanNs) > (1 - params.leastGain) * static_cast<double>(best.makespanNs))
      return false;
    best = std::move(*trial);
    solution.splits = std::move(splits);
    return true;
  }

  const SplitProblem &problem;
  const TensorProgram &program;
  const SplitParams &params;
  SplitTrial best;
  SplitSolution solution;
};
} // namespace

Expected<SplitSolution> solveSplits(const SplitProblem &problem, const SplitParams &params) {
  return Splitter(problem, params).run();
}

} // namespace sluice
