//===- Splitting.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Splitting.h"

#include "ImportedProgram.h"
#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Simulator/Simulator.h"

namespace sluice {

std::vector<NamedSplit> namesOf(const TensorProgram &program, const std::vector<OperatorSplit> &splits) {
  std::vector<NamedSplit> named;
  for (const OperatorSplit &split : splits) {
    const ProgramOperator &op = program.operators[split.op.index()];
    named.push_back({op.name, op.rules[split.rule].name, split.parts});
  }
  return named;
}

Expected<std::vector<OperatorSplit>> findSplits(const TensorProgram &program, const std::vector<NamedSplit> &splits) {
  std::vector<OperatorSplit> found;
  for (const NamedSplit &split : splits) {
    auto op = llvm::find_if(program.operators, [&](const ProgramOperator &each) { return each.name == split.op; });
    if (op == program.operators.end())
      return makeError(ErrorCode::InvalidInput, "the plan splits operator '", split.op, "', which the model has not, ",
                       "give the model and options that the plan was made for");
    Expected<uint32_t> rule = findRule(*op, split.rule, kSplitAttribute);
    if (!rule)
      return propagate(rule);
    found.push_back({OperatorId(static_cast<size_t>(op - program.operators.begin())), *rule, split.parts});
  }
  if (Status valid = checkSplits(program, found); !valid)
    return propagate(valid);
  return found;
}

SplitTrial describeTrial(const BridgedGraph &bridge, const Machine &machine, const CostTable &costs, const Plan &plan) {
  const Timeline timeline = simulate(bridge.graph, machine, costs, plan);
  SplitTrial trial;
  trial.makespanNs = timeline.makespanNs;
  for (CommandId id : criticalPath(plan, timeline)) {
    const Command &command = plan.commands[id.index()];
    if (command.kind != CommandKind::Launch)
      continue;
    std::set<size_t> marks;
    collectMarks(bridge.operators[command.op.index()]->getLoc(), marks);
    const Interval &ran = timeline.commands[id.index()];
    SplitTrial::Stretch stretch{{}, ran.endNs - ran.startNs};
    for (size_t mark : marks)
      stretch.operators.push_back(OperatorId(mark));
    trial.critical.push_back(std::move(stretch));
  }
  return trial;
}

} // namespace sluice
