//===- UnreadCopiesTest.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "../../../lib/Swap/UnreadCopies.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

bool isRead(const Plan &plan, ResidencyId id) {
  return std::any_of(plan.commands.begin(), plan.commands.end(), [&](const Command &command) {
    return std::find(command.reads.begin(), command.reads.end(), id) != command.reads.end();
  });
}

/// The copies to an arena whose result no command reads, and the parameters that no command reads where the step
/// begins with them. The last copy to such a place restores it and is read by the next step.
int countUnread(const Instance &instance, const Plan &plan) {
  int unread = 0;
  auto isUnreadParameter = [&](size_t i) {
    const Residency &r = plan.residencies[i];
    return r.initial && r.segment == Segment::Arena && instance.graph.tensor(r.tensor).kind == TensorKind::Parameter &&
           !isRead(plan, ResidencyId(i));
  };
  for (size_t i = 0; i < plan.residencies.size(); ++i)
    unread += isUnreadParameter(i);
  for (const Command &command : plan.commands) {
    if (command.kind != CommandKind::Copy || isRead(plan, command.writes[0]))
      continue;
    const Residency &made = plan.residencies[command.writes[0].index()];
    bool isNeeded = made.segment == Segment::Home;
    for (const Residency &first : plan.residencies)
      isNeeded |= first.initial && first.segment == Segment::Arena && first.tensor == made.tensor &&
                  first.memory == made.memory && first.offset == made.offset;
    unread += !isNeeded;
  }
  return unread;
}

} // namespace

TEST_CASE("plans copy nothing that nobody reads", "[swap]") {
  Rng rng(11);
  int unread = 0, copied = 0;
  for (int round = 0; round < 120; ++round) {
    Instance instance;
    fillRandom(instance, rng, 10 + rng.below(60), round % 3 == 0 ? 2 : 1);
    const std::vector<MinimumBytes> minimum = minimumBytes(instance.problem());
    const std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    for (size_t m = 1; m < instance.capacity.size(); ++m)
      instance.capacity[m] = minimum[m].bytes + (peak[m] - minimum[m].bytes) / (2 + round % 4);
    for (const EvictionPolicy policy : {EvictionPolicy::CostAware, EvictionPolicy::LeastRecentlyUsed}) {
      SwapParams params;
      params.eviction = policy;
      Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
      REQUIRE(plan);
      unread += countUnread(instance, *plan);
      copied += plan->bytesSwappedOut(instance.graph) > 0;
    }
  }
  CHECK(unread == 0);
  CHECK(copied > 100);
}

TEST_CASE("commands keep their order without unread copies", "[swap]") {
  // `value` is copied to the host and stays. `weight` is there when the step begins, is overwritten by `large` unread,
  // comes back for `use`, and is restored for the next step.
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  const TensorId input = addTensor(graph, "input", 64, TensorKind::Input);
  const TensorId weight = addTensor(graph, "weight", 64, TensorKind::Parameter);
  const TensorId value = addTensor(graph, "value", 64), large = addTensor(graph, "large", 64);
  const TensorId result = addTensor(graph, "result", 64);
  graph.mutableTensor(result).isOutput = true;
  const OperatorId make = addOperator(graph, "make", {input}, {value});
  const OperatorId grow = addOperator(graph, "grow", {value}, {large});
  const OperatorId use = addOperator(graph, "use", {weight, value, large}, {result});
  complete(instance);

  const StreamId compute(0u), in(1u), out(2u);
  const MemoryId host = Machine::hostMemory(), accel(1u);
  Plan plan;
  plan.placement = instance.placement;
  plan.streams = {
      {DeviceId(1u), StreamKind::Compute}, {DeviceId(1u), StreamKind::SwapIn}, {DeviceId(1u), StreamKind::SwapOut}};
  plan.arenaBytes = {64, 64 * 6};
  auto stay = [&](TensorId t, MemoryId memory, Segment segment, int64_t offset, bool isInitial) {
    plan.residencies.push_back({t, memory, segment, offset, 64, isInitial});
    return ResidencyId(plan.residencies.size() - 1);
  };
  const ResidencyId inputHome = stay(input, host, Segment::Home, 0, true);
  const ResidencyId weightHome = stay(weight, host, Segment::Home, 0, true);
  stay(weight, accel, Segment::Arena, 320, true);
  const ResidencyId inputHere = stay(input, accel, Segment::Arena, 0, false);
  const ResidencyId valueHere = stay(value, accel, Segment::Arena, 64, false);
  const ResidencyId valueSaved = stay(value, host, Segment::Arena, 0, false);
  const ResidencyId largeHere = stay(large, accel, Segment::Arena, 320, false);
  const ResidencyId weightHere = stay(weight, accel, Segment::Arena, 128, false);
  const ResidencyId resultHere = stay(result, accel, Segment::Arena, 192, false);
  const ResidencyId resultHome = stay(result, host, Segment::Home, 0, false);
  const ResidencyId weightRestored = stay(weight, accel, Segment::Arena, 320, false);
  const LinkId link(0u);
  auto copy = [&](StreamId stream, ResidencyId from, ResidencyId to, std::vector<CommandId> waits) {
    plan.commands.push_back({CommandKind::Copy, stream, OperatorId(), link, {from}, {to}, std::move(waits)});
  };
  auto launch = [&](OperatorId op, std::vector<ResidencyId> reads, ResidencyId write, std::vector<CommandId> waits) {
    plan.commands.push_back({CommandKind::Launch, compute, op, LinkId(), std::move(reads), {write}, std::move(waits)});
  };
  copy(in, inputHome, inputHere, {});                                           // 0
  launch(make, {inputHere}, valueHere, {CommandId(0u)});                        // 1
  copy(out, valueHere, valueSaved, {CommandId(1u)});                            // 2: nobody reads it.
  launch(grow, {valueHere}, largeHere, {});                                     // 3
  copy(in, weightHome, weightHere, {CommandId(2u)});                            // 4: knows of `make` by the copy alone.
  launch(use, {weightHere, valueHere, largeHere}, resultHere, {CommandId(4u)}); // 5
  copy(out, resultHere, resultHome, {CommandId(5u)});                           // 6
  copy(in, weightHome, weightRestored, {CommandId(5u)});                        // 7: nobody reads it.
  REQUIRE(validatePlan(graph, instance.machine, plan));
  REQUIRE(countUnread(instance, plan) == 2);
  const int64_t before = makespanNs(instance, plan);

  REQUIRE(swap::removeUnreadCopies(graph, plan));
  Status status = validatePlan(graph, instance.machine, plan);
  INFO((status ? std::string() : status.error().message));
  REQUIRE(status);
  CHECK(countUnread(instance, plan) == 0);
  REQUIRE(plan.commands.size() == 6);
  CHECK(plan.commands[3].waits == std::vector<CommandId>{CommandId(1u)});
  CHECK(plan.residencies.size() == 8);
  CHECK(plan.arenaBytes == std::vector<int64_t>{0, 64 * 6});
  CHECK(makespanNs(instance, plan) <= before);
  CHECK_FALSE(swap::removeUnreadCopies(graph, plan));
}
