//===- Explain.cpp - Why a plan is as it is -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Explain/Explain.h"

#include "PlanFacts.h"
#include "Words.h"
#include "sluice/Support/NearestNames.h"
#include "sluice/Support/Text.h"

#include <algorithm>
#include <utility>

namespace sluice {

/// That explainStep() simulates at most to learn what would change if tensors stayed.
static constexpr size_t kSimulatedCommands = 1000000;

/// The indices of all things of a name; else of what plan files call so.
template <typename Range>
static std::vector<uint32_t> findAll(const Range &items, const PlanNames &names, std::string_view name) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < items.size(); ++i)
    if (items[i].name == name && !name.empty())
      found.push_back(i);
  if (std::optional<uint32_t> index = names.find(name); index && found.empty())
    found.push_back(*index);
  return found;
}

static tl::unexpected<Error> notFound(const Graph &graph, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Operator &op : graph.operators())
    known.push_back(op.name);
  for (const Tensor &tensor : graph.tensors())
    known.push_back(tensor.name);
  const std::vector<std::string> nearest = nearestNames(name, known);
  return makeError(ErrorCode::NotFound, "'", excerpt(name),
                   "' is neither an operator nor a tensor of the plan, model '", excerpt(graph.name), "', ",
                   nearest.empty() ? std::string("the report lists the operators")
                                   : concat("the nearest names are ", words::listOf(nearest)));
}

Expected<std::vector<Explanation>> explain(const PlanFile &file, const std::vector<std::string> &names) {
  PlanFacts facts(file);
  facts.fillSlack();
  const MemoryProfile profile = memoryProfile(facts.machine, facts.plan, facts.timeline);
  std::vector<Explanation> explanations;
  for (const std::string &name : names) {
    Explanation explanation;
    explanation.name = name;
    for (uint32_t index : findAll(facts.graph.operators(), facts.operatorNames, name)) {
      OperatorFacts found = operatorFacts(facts, profile, OperatorId(index));
      const std::vector<DeviceId> &given = file.problem.placement;
      found.isFixed = !given.empty() && given[index].valid();
      explanation.operators.push_back(std::move(found));
    }
    for (uint32_t index : findAll(facts.graph.tensors(), facts.tensorNames, name))
      explanation.tensors.push_back(tensorFacts(facts, profile, TensorId(index)));
    for (TensorFacts &tensor : explanation.tensors)
      for (CopyFact &copy : tensor.copies)
        if (copy.absence && copy.absence->freeOffset)
          copy.absence->staying = simulateStaying(facts, {keptOf(*copy.absence)});
    if (explanation.operators.empty() && explanation.tensors.empty())
      return notFound(facts.graph, name);
    explanations.push_back(std::move(explanation));
  }
  return explanations;
}

StepFacts explainStep(const PlanFile &file) {
  PlanFacts facts(file);
  facts.fillSlack();
  const MemoryProfile profile = memoryProfile(facts.machine, facts.plan, facts.timeline);
  StepFacts step;
  for (size_t i = 0; i < facts.plan.commands.size(); ++i)
    step.slackNs.push_back(facts.slackOf(CommandId(i)));
  for (size_t i = 0; i < facts.plan.commands.size(); ++i) {
    CommandId waiter(i);
    // A device that only does not communicate may well compute.
    if (facts.plan.streams[facts.command(waiter).stream.index()].kind != StreamKind::Compute ||
        facts.stallNs(waiter) <= 0)
      continue;
    const Stall found = facts.stall(waiter);
    StallFact stall;
    stall.launch = facts.fact(waiter);
    stall.stallNs = facts.stallNs(waiter);
    if (found.longest.valid())
      stall.longest = facts.fact(found.longest);
    stall.longestNs = found.longestNs;
    stall.missing = facts.missing(waiter);
    for (CommandId held : found.chain)
      stall.chain.push_back(facts.dependency(std::exchange(waiter, held), held));
    // Why the last of them did not start before the stream fell idle, unless its data was made then.
    if (const CommandId held = facts.lastToEnd(waiter); !stall.chain.empty() && held.valid())
      if (Dependency before = facts.dependency(waiter, held); before.why != Dependency::Why::Data)
        stall.chain.push_back(std::move(before));
    step.stalls.push_back(std::move(stall));
  }
  for (size_t i = 0; i < facts.graph.numTensors(); ++i)
    if (!facts.copies[i].empty())
      step.copied.emplace_back(TensorId(i), tensorFacts(facts, profile, TensorId(i)));
  std::vector<std::pair<TensorId, TensorFacts *>> copied;
  for (auto &[id, tensor] : step.copied)
    copied.emplace_back(id, &tensor);
  explainStaying(facts, copied, kSimulatedCommands);
  return step;
}

} // namespace sluice
