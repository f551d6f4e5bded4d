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
                   nearest.empty() ? std::string("give a name that 'sluice report' shows")
                                   : concat("use ", alternatives(nearest)));
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

/// Returns nothing for a stream that launches nothing.
static std::optional<DeviceTime> deviceTime(const PlanFacts &facts, StreamId stream) {
  if (facts.plan.streams[stream.index()].kind != StreamKind::Compute)
    return std::nullopt;
  DeviceTime time;
  int64_t lastNs = -1;
  for (size_t i = 0; i < facts.plan.commands.size(); ++i) {
    const CommandId id(i);
    if (facts.command(id).stream != stream || !facts.isLaunch(id))
      continue;
    time.device = facts.machine.device(facts.deviceOf(id)).name;
    lastNs = facts.interval(id).endNs;
    time.computeNs += lastNs - facts.interval(id).startNs;
    time.stallNs += facts.stallNs(id);
    time.copyStallNs += facts.stall(id).copyNs;
  }
  if (lastNs < 0)
    return std::nullopt;
  time.stepNs = facts.timeline.makespanNs;
  time.restNs = time.stepNs - lastNs;
  return time;
}

StepFacts explainStep(const PlanFile &file) {
  PlanFacts facts(file);
  facts.fillSlack();
  const MemoryProfile profile = memoryProfile(facts.machine, facts.plan, facts.timeline);
  StepFacts step;
  for (size_t i = 0; i < facts.plan.commands.size(); ++i)
    step.slackNs.push_back(facts.slackOf(CommandId(i)));
  for (size_t i = 0; i < facts.plan.commands.size(); ++i)
    step.heldBy.push_back(facts.lastToEnd(CommandId(i)));
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
    stall.during = found.chain;
    const StreamId idle = facts.command(waiter).stream;
    for (CommandId held = facts.lastToEnd(waiter, true); held.valid(); held = facts.lastToEnd(waiter)) {
      if (stall.chain.size() < StallFact::kMostLinks) {
        stall.chain.push_back(facts.dependency(waiter, held));
        if (stall.chain.back().why == Dependency::Why::Bytes && !stall.room) {
          stall.room = facts.room(waiter, held);
          stall.roomLink = stall.chain.size() - 1;
        }
      } else {
        ++stall.moreLinks;
      }
      waiter = held;
      if (facts.command(held).stream == idle)
        break;
    }
    if (!stall.chain.empty())
      stall.chainEnd = facts.fact(waiter);
    step.stalls.push_back(std::move(stall));
  }
  step.criticalPath = criticalPath(facts.plan, facts.timeline);
  for (size_t s = 0; s < facts.plan.streams.size(); ++s)
    if (std::optional<DeviceTime> time = deviceTime(facts, StreamId(s)))
      step.deviceTimes.push_back(std::move(*time));
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
