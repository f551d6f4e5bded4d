//===- Splitting.cpp - Which operators run as several ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Splitting.h"

#include "ImportedProgram.h"
#include "passes/Bridge/ProgramBridge.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Tiling/OperatorSplit.h"

using namespace mlir;

namespace sluice {

Status requireDevices(const Stage &program, const Machine &machine, std::string_view option) {
  if (machine.computeDevices().size() < 2)
    return makeError(ErrorCode::InvalidInput, "option '", option,
                     "' needs several devices over which to split operators, and machine '", machine.name,
                     "' has one device, give a --machine with several devices or leave the option out");
  if (const int64_t ranks = numRanksOf(program.main()); ranks > 1)
    return makeError(ErrorCode::Unsupported, "'", program.origin->modelPath, "' is already split over ", ranks,
                     " ranks, option '", option, "', leave this option out");
  return {};
}

Status applySplits(Partitioned &program) {
  if (!program.splits.empty()) {
    auto decisions = std::make_shared<Decisions>();
    decisions->splits = program.splits;
    Pipeline passes;
    passes.onModule("dataflow-apply-plan", {{"plan", kPlanFileName}, {"phase", "partition"}}, [decisions] {
      ApplyPlanPassOptions options;
      options.phase = "partition";
      return createApplyPlanPass(options, decisions.get());
    });
    SLUICE_RETURN_IF_ERROR(program.run(passes));
  }
  if (llvm::none_of(program.main().getBody().front(),
                    [](Operation &op) { return op.hasAttr(dataflow::DataflowDialect::SplitAttrHelper::getNameStr()); }))
    return {};
  Pipeline passes;
  passes.onFunctions("dataflow-split").onFunctions("dataflow-simplify");
  return program.run(passes);
}

static std::vector<NamedSplit> namesOf(const TensorProgram &program, const std::vector<OperatorSplit> &splits) {
  std::vector<NamedSplit> named;
  for (const OperatorSplit &split : splits) {
    const ProgramOperator &op = program.operators[split.op.index()];
    named.push_back({op.name, op.rules[split.rule].name, split.parts});
  }
  return named;
}

/// The program planned with operators split so. The copy's operators are marked with
/// their ids in the tensor program, which fusion and splitting pass on.
static Expected<Planned> planWith(const Partitioned &program, const std::vector<NamedSplit> &splits,
                                  const CompilerOptions &how) {
  Partitioned trial = program.copy();
  trial.splits = splits;
  trial.choice.reset();
  SLUICE_ASSIGN_OR_RETURN(BridgedProgram bridged, buildTensorProgram(trial.main()));
  MLIRContext *context = trial.origin->context.get();
  auto nameOnly = [&](Operation *op) {
    return NameLoc::get(StringAttr::get(context, dataflow::nodeName(op->getLoc())));
  };
  // States and constants keep no mark of the import: it would be taken for an id.
  for (Operation &op : trial.main().getBody().front())
    op.setLoc(nameOnly(&op));
  for (auto [i, op] : llvm::enumerate(bridged.operators))
    markOperator(op, op->getLoc(), i);
  SLUICE_RETURN_IF_ERROR(applySplits(trial));
  SLUICE_ASSIGN_OR_RETURN(Fused fused, fuse(std::move(trial), how));
  return plan(std::make_shared<const Fused>(std::move(fused)), how);
}

/// A trial's time, and the operators on the critical path of its plan.
static SplitTrial describeTrial(const Planned &planned) {
  const Fused &fused = *planned.fused;
  const Plan &plan = planned.result.plan;
  const Timeline timeline = simulate(fused.bridge.graph, fused.measured, fused.costs, plan);
  SplitTrial trial;
  trial.makespanNs = timeline.makespanNs;
  for (CommandId id : criticalPath(plan, timeline)) {
    const Command &command = plan.commands[id.index()];
    if (command.kind != CommandKind::Launch)
      continue;
    std::set<size_t> marks;
    collectMarks(fused.bridge.operators[command.op.index()]->getLoc(), marks);
    const Interval &ran = timeline.commands[id.index()];
    SplitTrial::Stretch stretch{{}, ran.endNs - ran.startNs};
    for (size_t mark : marks)
      stretch.operators.push_back(OperatorId(mark));
    trial.critical.push_back(std::move(stretch));
  }
  return trial;
}

/// Splits that gain in quick plans; none where none does.
static Expected<std::vector<NamedSplit>> searchSplits(const Partitioned &program, const CompilerOptions &full) {
  constexpr int64_t kTrialPlans = 64, kPartsPerDevice = 4;
  BridgedProgram bridged;
  if (Expected<BridgedProgram> built = buildTensorProgram(program.main()); built)
    bridged = std::move(*built);
  else
    return propagate(built);
  CompilerOptions quick = full;
  quick.solvers[SolverStep::Search] = "greedy";
  quick.searchEvaluations = kTrialPlans;
  quick.searchTimeNs = 0;
  quick.progress = nullptr;
  quick.leastGain = 0; // What one split gains, the next may add to.
  SplitProblem splitting;
  splitting.program = &bridged.program;
  splitting.mostParts = static_cast<int64_t>(program.ofRank.computeDevices().size()) * kPartsPerDevice;
  splitting.run = [&](const std::vector<OperatorSplit> &candidate) -> Expected<SplitTrial> {
    SLUICE_ASSIGN_OR_RETURN(Planned tried, planWith(program, namesOf(bridged.program, candidate), quick));
    return describeTrial(tried);
  };
  SplitParams params;
  params.budget.interrupt = full.interrupt;
  if (full.searchEvaluations == 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(full.searchTimeNs);
  SLUICE_ASSIGN_OR_RETURN(SplitSolution solution, solveSplits(splitting, params));
  return namesOf(bridged.program, solution.splits);
}

Status chooseSplits(Partitioned &program, const CompilerOptions &options) {
  SLUICE_RETURN_IF_ERROR(requireDevices(program, program.ofRank, "--split-operators"));
  CompilerOptions full = options;
  full.splitOperators = false;
  full.dumpProblem.clear();
  SLUICE_ASSIGN_OR_RETURN(Planned whole, planWith(program, {}, full));
  // A percentage is one of the program's needs: all are to have the same bytes.
  full.memory.clear();
  for (size_t m = 0; m < program.ofRank.memories.size(); ++m)
    if (int64_t bytes = whole.problem.capacityBytes[m]; bytes != program.ofRank.memories[m].capacityBytes)
      full.memory.push_back(concat(program.ofRank.memories[m].name, "=", bytes));
  program.choice = SplitChoice{full.memory, whole.result};
  SearchResult &kept = program.choice->result;

  SLUICE_ASSIGN_OR_RETURN(std::vector<NamedSplit> splits, searchSplits(program, full));
  if (splits.empty())
    return {};
  Expected<Planned> divided = planWith(program, splits, full);
  if (!divided && divided.error().code != ErrorCode::Infeasible && divided.error().code != ErrorCode::Interrupted)
    return propagate(divided);
  if (!divided || divided->result.makespanNs >= kept.makespanNs)
    return {};
  const int64_t splitNs = divided->result.makespanNs;
  if (static_cast<double>(splitNs) > (1 - options.leastGain) * static_cast<double>(kept.makespanNs)) {
    kept.baselines.push_back(
        {"split", splitNs, concat("gains less than ", options.leastGain * 100, "% over operators whole")});
    return {};
  }
  Baseline unsplit{"unsplit", kept.makespanNs, {}};
  kept = std::move(divided->result);
  kept.baselines.push_back(std::move(unsplit));
  program.splits = std::move(splits);
  return {};
}

} // namespace sluice
