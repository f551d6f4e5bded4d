//===- PlanFacts.h - What follows from a plan -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_EXPLAIN_PLANFACTS_H
#define SLUICE_LIB_EXPLAIN_PLANFACTS_H

#include "sluice/Explain/Explain.h"
#include "sluice/Plan/Names.h"

namespace sluice {

/// The time in which a stream does nothing before a command, given to what held the command back: to the last to end of
/// all that it waits for while that runs, before that to what held that back, and so on. A wake-up counts to what
/// ended.
struct Stall {
  int64_t copyNs = 0;
  int64_t launchNs = 0; ///< Operators of other streams.
  CommandId longest;    ///< What most of the time goes to; invalid: there is no such time.
  int64_t longestNs = 0;
  std::vector<CommandId> chain; ///< What held the command back, what held that back, and so on.
};

/// A plan's commands and residencies by what they belong to, with their times. The file outlives this.
class PlanFacts {
public:
  explicit PlanFacts(const PlanFile &file);

  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  const Plan &plan;
  const std::vector<int64_t> &capacities;
  const PlanNames operatorNames, tensorNames;
  const Timeline timeline;

  std::vector<CommandId> before, after;           ///< Per command: those before and after it on its stream.
  std::vector<CommandId> creators;                ///< Per residency: the command that writes it.
  std::vector<std::vector<CommandId>> readers;    ///< Per residency.
  std::vector<std::vector<CommandId>> launches;   ///< Per operator.
  std::vector<std::vector<ResidencyId>> stays;    ///< Per tensor.
  std::vector<std::vector<CommandId>> copies;     ///< Per tensor, by start.
  std::vector<size_t> copyNumber;                 ///< Per command: of a copy, its position in `copies`, from 1.
  std::vector<std::vector<ResidencyId>> byOffset; ///< Per memory: of its arena, by ascending offset.
  std::vector<Interval> times;                    ///< Per residency: residencyTimes.

  const Command &command(CommandId id) const { return plan.commands[id.index()]; }
  const Residency &residency(ResidencyId id) const { return plan.residencies[id.index()]; }
  const Interval &interval(CommandId id) const { return timeline.commands[id.index()]; }
  bool isLaunch(CommandId id) const { return command(id).kind == CommandKind::Launch; }
  DeviceId deviceOf(CommandId id) const { return plan.streams[command(id).stream.index()].device; }
  MemoryId memoryOf(OperatorId op) const { return machine.device(plan.placement[op.index()]).memory; }
  std::string nameOf(OperatorId op) const { return operatorNames.write(op.value); }
  std::string nameOf(TensorId tensor) const { return tensorNames.write(tensor.value); }
  /// Homes that count against the memory's limit.
  int64_t homeBytes(MemoryId memory) const;
  /// Bytes that the arena of the memory may have beside these homes; max(): no limit.
  int64_t arenaLimit(MemoryId memory) const;
  /// How long the command's stream did nothing before it.
  int64_t stallNs(CommandId id) const;
  /// All that it waits for, and that makes what it reads.
  std::vector<CommandId> needs(CommandId id) const;
  /// Of these, what had not ended when its stream fell idle before it, the longest first.
  std::vector<MissingFact> missing(CommandId id) const;
  /// From the end of the command before on its stream, or of all others it needs but `besides`, to its start.
  int64_t waitNs(CommandId id, CommandId besides) const;
  /// Of what a command is ordered after, the last to end; invalid: nothing.
  CommandId lastToEnd(CommandId id, bool onOtherStreams = false) const;
  /// What stallNs() goes to.
  Stall stall(CommandId id) const;

  /// "operator", where a tensor has the same name.
  std::string nounOf(OperatorId op) const;
  /// Its kind, where an operator has the same name.
  std::string nounOf(TensorId tensor) const;
  CommandFact fact(CommandId id) const;
  int64_t slackOf(CommandId id) const { return slackNs[id.index()]; }
  /// Other copies that use the copy's link or trunk while it runs, the longest first.
  std::vector<MissingFact> sharing(CommandId copy) const;
  /// What was free elsewhere for a command that starts after `held`, whose bytes it overwrites; none where it
  /// overwrites no bytes of that. O(residencies).
  std::optional<RoomFact> room(CommandId waiter, CommandId held) const;
  /// Needs fillSlack() before.
  Timing timing(CommandId id) const;
  /// Slack and the critical path.
  void fillSlack();
  /// Why `waiter` is ordered after `earlier`.
  Dependency dependency(CommandId waiter, CommandId earlier) const;

private:
  std::vector<std::vector<CommandId>> rows; ///< Per stream.
  std::vector<int64_t> slackNs;
  std::vector<CommandId> slackBy;
  std::vector<bool> critical;

  int64_t eventLatencyNs(CommandId ended, CommandId waiter) const;
  struct Reason {
    Dependency::Why why = Dependency::Why::Order;
    TensorId tensor; ///< Invalid: a workspace, or no reason.
  };
  /// The reason that the plan's data and addresses give; Order: none.
  Reason reasonOf(CommandId waiter, CommandId earlier) const;
  std::optional<Dependency::Sake> sakeOf(CommandId waiter, CommandId earlier) const;
};

/// Half-open ranges of two residencies of one arena share bytes.
bool overlap(const Residency &a, const Residency &b);
/// Half-open intervals share a time.
bool meet(const Interval &a, const Interval &b);

/// The first launch that reads a stay; invalid: none.
CommandId firstReader(const PlanFacts &facts, ResidencyId stay);

OperatorFacts operatorFacts(const PlanFacts &facts, const MemoryProfile &profile, OperatorId op);
TensorFacts tensorFacts(const PlanFacts &facts, const MemoryProfile &profile, TensorId tensor);

/// A plan in which a tensor stays in a memory during an absence.
struct Kept {
  ResidencyId left, back;
  bool isOverEnd = false;
  int64_t offset = 0;
};
Kept keptOf(const AbsenceFact &absence);
/// The step with these kept, simulated; none where the plan's checker refuses it. O(plan's check).
std::optional<StayingFact> simulateStaying(const PlanFacts &facts, const std::vector<Kept> &kept);
/// Fills AbsenceFact::staying, by `budget` commands to simulate at most, and rivals.
void explainStaying(const PlanFacts &facts, const std::vector<std::pair<TensorId, TensorFacts *>> &tensors,
                    size_t budget);

} // namespace sluice

#endif // SLUICE_LIB_EXPLAIN_PLANFACTS_H
