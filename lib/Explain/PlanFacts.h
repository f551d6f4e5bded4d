//===- PlanFacts.h - What follows from a plan -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_EXPLAIN_PLANFACTS_H
#define SLUICE_LIB_EXPLAIN_PLANFACTS_H

#include "sluice/Explain/Explain.h"
#include "sluice/Plan/Names.h"

namespace sluice {

/// The time in which a stream is idle before a command, divided among the commands that caused it. While the last
/// command for which this command waits is running, the time belongs to it. The time before that belongs to the command
/// for which the last one waited, and so on. The wake-up delay after a command belongs to this command.
struct Stall {
  int64_t copyNs = 0;
  int64_t launchNs = 0; ///< Operators of other streams.
  CommandId longest;    ///< The command to which most of the time belongs; invalid if there is no idle time.
  int64_t longestNs = 0;
  /// The command for which the command waited, the command for which that one waited, and so on.
  std::vector<CommandId> chain;
};

/// The commands and residencies of a plan, sorted by the operators, tensors and streams to which they belong, with
/// their times. The file must outlive the object.
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

  std::vector<CommandId> before, after;           ///< Per command: the commands before and after it on its stream.
  std::vector<CommandId> creators;                ///< Per residency: the command that writes it.
  std::vector<std::vector<CommandId>> readers;    ///< Per residency.
  std::vector<std::vector<CommandId>> launches;   ///< Per operator.
  std::vector<std::vector<ResidencyId>> stays;    ///< Per tensor.
  std::vector<std::vector<CommandId>> copies;     ///< Per tensor, by start.
  std::vector<size_t> copyNumber;                 ///< Per command: for a copy, its position in `copies`, from 1.
  std::vector<std::vector<ResidencyId>> byOffset; ///< Per memory: the residencies of its arena, by ascending offset.
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
  /// Time for which the command's stream is idle before the command.
  int64_t stallNs(CommandId id) const;
  /// All commands for which the command waits, and the commands that write the data that it reads.
  std::vector<CommandId> needs(CommandId id) const;
  /// Those of needs() that had not ended when the command's stream became idle, by descending time.
  std::vector<MissingFact> missing(CommandId id) const;
  /// Time from the later of two ends to the start of the command: the end of the previous command of its stream, and
  /// the end of the last command of needs() except `besides`.
  int64_t waitNs(CommandId id, CommandId besides) const;
  /// The command that ends last among those that the command must follow; invalid if there is none.
  CommandId lastToEnd(CommandId id, bool onOtherStreams = false) const;
  /// The division of stallNs() among commands.
  Stall stall(CommandId id) const;

  /// "operator" if a tensor has the same name, and otherwise empty.
  std::string nounOf(OperatorId op) const;
  /// The kind of the tensor if an operator has the same name, and otherwise empty.
  std::string nounOf(TensorId tensor) const;
  CommandFact fact(CommandId id) const;
  int64_t slackOf(CommandId id) const { return slackNs[id.index()]; }
  /// Other copies that use the copy's link or trunk while it runs, the longest first.
  std::vector<MissingFact> sharing(CommandId copy) const;
  /// The bytes that were free at other addresses for a command `waiter` that overwrites bytes of `held` and therefore
  /// starts after it. Nothing if it overwrites no bytes of `held`. O(residencies).
  std::optional<RoomFact> room(CommandId waiter, CommandId held) const;
  /// Call fillSlack() before this function.
  Timing timing(CommandId id) const;
  /// Computes the slack of all commands and the critical path.
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
  /// The reason that follows from the plan's data and addresses; Order if there is none.
  Reason reasonOf(CommandId waiter, CommandId earlier) const;
  std::optional<Dependency::Sake> sakeOf(CommandId waiter, CommandId earlier) const;
};

/// Whether two residencies of one arena share bytes. Ranges are half-open.
bool overlap(const Residency &a, const Residency &b);
/// Whether two half-open intervals have a time in common.
bool meet(const Interval &a, const Interval &b);

/// The first launch that reads a stay; invalid if there is none.
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
/// Simulates the step in which these tensors stay; empty if the plan validator refuses the changed plan. Takes as long
/// as validatePlan.
std::optional<StayingFact> simulateStaying(const PlanFacts &facts, const std::vector<Kept> &kept);
/// Fills AbsenceFact::staying and AbsenceFact::rivals. Simulates at most `budget` commands.
void explainStaying(const PlanFacts &facts, const std::vector<std::pair<TensorId, TensorFacts *>> &tensors,
                    size_t budget);

} // namespace sluice

#endif // SLUICE_LIB_EXPLAIN_PLANFACTS_H
