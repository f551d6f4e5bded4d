//===- Groups.cpp - A step of several programs ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Groups.h"

#include "PartitionModel.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

namespace {
/// The program of a group while it runs. It stops at each message.
class GroupRun {
public:
  GroupRun(const GroupProgram &of, const PartitionMachine &machine)
      : of(of), machine(machine), readyNs(of.program.tensors.size()) {}

  /// Runs up to the next message, or to the end.
  void advance() {
    for (; !isDone() && !op().peer; ++at)
      runOperator();
  }
  bool isDone() const { return at == of.program.operators.size(); }
  const ProgramOperator &op() const { return of.program.operators[at]; }
  bool sends() const { return !op().operands.empty(); }
  /// The time from which the message can begin.
  int64_t messageNs() {
    if (!hasOperands)
      convertOperands();
    int64_t ns = communicateFreeNs;
    for (size_t slot = 0; slot < op().operands.size(); ++slot)
      ns = std::max(ns, operandNs(slot));
    return ns;
  }
  int64_t messageBytes() const {
    const TensorId id = sends() ? op().operands[0] : op().results[0];
    const std::vector<AxisTiling> tilings = sends() ? of.tiling.operandTilings(of.program, OperatorId(at), 0)
                                                    : of.tiling.resultTilings(of.program, OperatorId(at), 0);
    return partBytes(of.program.tensors[id.index()], tilings, machine.mesh);
  }
  void endMessage(int64_t endNs) {
    communicateFreeNs = endNs;
    finish(endNs);
    ++at;
  }
  int64_t endNs() const { return std::max(computeFreeNs, communicateFreeNs); }
  int64_t computeNs() const { return busyNs; }

private:
  int64_t communicate(const PlannedConversion &conversion, int64_t ns) {
    return communicateFreeNs = saturatingAdd(std::max(communicateFreeNs, ns),
                                             stepsCost(PartitionCost::Time, conversion.steps, machine.mesh));
  }
  void convertOperands() {
    for (; next < of.conversions.size() && of.conversions[next].op.index() == at && !of.conversions[next].isResult;
         ++next) {
      const PlannedConversion &conversion = of.conversions[next];
      copies[{conversion.tensor.value, codeOf(conversion.to)}] =
          communicate(conversion, readyNs[conversion.tensor.index()]);
    }
    hasOperands = true;
  }
  int64_t operandNs(size_t slot) const {
    const TensorId id = op().operands[slot];
    const auto copy = copies.find({id.value, codeOf(of.tiling.operandTilings(of.program, OperatorId(at), slot))});
    return copy == copies.end() ? readyNs[id.index()] : copy->second;
  }
  void finish(int64_t ns) {
    for (TensorId id : op().results)
      readyNs[id.index()] = ns;
    for (; next < of.conversions.size() && of.conversions[next].op.index() == at; ++next)
      readyNs[of.conversions[next].tensor.index()] = communicate(of.conversions[next], ns);
    hasOperands = false;
  }
  void runOperator() {
    convertOperands();
    int64_t begin = computeFreeNs;
    for (size_t slot = 0; slot < op().operands.size(); ++slot)
      begin = std::max(begin, operandNs(slot));
    const int64_t ns = operatorNs(op(), of.tiling.rules[at], machine);
    computeFreeNs = saturatingAdd(begin, ns);
    busyNs = saturatingAdd(busyNs, ns);
    finish(computeFreeNs);
  }

  const GroupProgram &of;
  const PartitionMachine &machine;
  std::vector<int64_t> readyNs; ///< Per tensor, as it is held.
  std::map<std::pair<uint32_t, TilingCode>, int64_t> copies;
  size_t at = 0, next = 0; ///< The next operator and conversion.
  bool hasOperands = false;
  int64_t computeFreeNs = 0, communicateFreeNs = 0, busyNs = 0;
};
} // namespace

Expected<GroupTimeline> simulateGroups(const std::vector<GroupProgram> &groups, const GroupMachine &machine) {
  std::vector<GroupRun> runs;
  for (const GroupProgram &group : groups)
    runs.emplace_back(group, machine.group);
  const int64_t ranks = machine.group.mesh.numDevices();
  if (machine.links.size() != groups.size() * groups.size())
    return makeError(ErrorCode::InvalidInput, groups.size(), " groups of ranks need ", groups.size() * groups.size(),
                     " links and have ", machine.links.size(),
                     ", give one link from each group to each group, also to itself");
  auto fail = [](const ProgramOperator &op, const auto &...what) {
    return makeError(ErrorCode::InvalidInput, "message '", op.name, "' between two groups of ranks ", what...,
                     ", let both groups issue their messages in one order");
  };
  for (bool isMoving = true; isMoving;) {
    isMoving = false;
    for (size_t g = 0; g < runs.size(); ++g) {
      GroupRun &sender = runs[g];
      sender.advance();
      if (sender.isDone() || !sender.sends())
        continue;
      const auto to = static_cast<size_t>(*sender.op().peer / ranks);
      if (to >= runs.size() || to == g)
        return fail(sender.op(), "goes to rank ", *sender.op().peer, ", which is in no other group");
      GroupRun &receiver = runs[to];
      receiver.advance();
      if (receiver.isDone() || receiver.sends() || static_cast<size_t>(*receiver.op().peer / ranks) != g)
        continue;
      if (sender.messageBytes() != receiver.messageBytes())
        return fail(sender.op(), "has ", sender.messageBytes(), " bytes, and its receiver waits for ",
                    receiver.messageBytes(), " bytes");
      const GroupLink &link = machine.links[g * runs.size() + to];
      if (!(link.bytesPerSec > 0))
        return fail(sender.op(), "goes from group ", g, " to group ", to, ", between which two devices have no link");
      const double ns =
          1e9 * static_cast<double>(sender.messageBytes()) / link.bytesPerSec + static_cast<double>(link.latencyNs);
      const int64_t end = saturatingAdd(std::max(sender.messageNs(), receiver.messageNs()),
                                        ns < 1e18 ? static_cast<int64_t>(ns) : int64_t(1) << 60);
      sender.endMessage(end);
      receiver.endMessage(end);
      isMoving = true;
    }
  }
  GroupTimeline timeline;
  for (GroupRun &run : runs) {
    if (!run.isDone())
      return fail(run.op(), "waits forever");
    timeline.makespanNs = std::max(timeline.makespanNs, run.endNs());
    timeline.computeNs.push_back(run.computeNs());
  }
  return timeline;
}

} // namespace sluice
