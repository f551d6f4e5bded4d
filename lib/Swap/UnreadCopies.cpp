//===- UnreadCopies.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "UnreadCopies.h"

#include "sluice/Support/IdRange.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace sluice;
using namespace sluice::swap;

namespace {

class UnreadCopies {
public:
  UnreadCopies(const Graph &graph, Plan &plan) : graph(graph), plan(plan) {}

  /// Whether there was anything to remove.
  bool remove() {
    countReaders();
    bool isFound = false;
    while (findUnread())
      isFound = true;
    if (!isFound)
      return false;
    removeCommands();
    removeResidencies();
    return true;
  }

private:
  bool isUpdated(TensorId t) const { return graph.tensor(t).updatedBy.valid(); }
  bool mayBeUnread(const Residency &r) const {
    return r.initial && r.segment == Segment::Arena && !isUpdated(r.tensor);
  }

  void countReaders() {
    readers.assign(plan.residencies.size(), 0);
    for (const Command &command : plan.commands)
      for (ResidencyId r : command.reads)
        ++readers[r.index()];
    isRemovedCommand.assign(plan.commands.size(), 0);
    isRemovedResidency.assign(plan.residencies.size(), 0);
    for (ResidencyId id : idsBelow<ResidencyId>(plan.residencies.size()))
      if (const Residency &r = plan.residencies[id.index()]; r.initial && r.segment == Segment::Arena)
        initial.push_back(id);
    std::stable_sort(initial.begin(), initial.end(),
                     [&](ResidencyId a, ResidencyId b) { return tensorOf(a) < tensorOf(b); });
  }

  TensorId tensorOf(ResidencyId id) const { return plan.residencies[id.index()].tensor; }

  /// Whether the next step begins with the data at this place.
  bool isKeptForNextStep(const Residency &r) const {
    auto at = std::lower_bound(initial.begin(), initial.end(), r.tensor,
                               [&](ResidencyId id, TensorId t) { return tensorOf(id) < t; });
    for (; at != initial.end() && tensorOf(*at) == r.tensor; ++at)
      if (const Residency &first = plan.residencies[at->index()];
          first.memory == r.memory && first.offset == r.offset && !isRemovedResidency[at->index()])
        return true;
    return false;
  }

  /// Marks residencies and copies; false if there are no more. A copy comes after the copies that make its source, so
  /// one pass backwards finds whole chains of copies. An initial residency may lose its last reader only in that pass.
  bool findUnread() {
    bool isFound = false;
    for (ResidencyId id : initial)
      if (readers[id.index()] == 0 && mayBeUnread(plan.residencies[id.index()]) &&
          !std::exchange(isRemovedResidency[id.index()], 1))
        isFound = true;
    for (size_t i = plan.commands.size(); i-- > 0;) {
      const Command &command = plan.commands[i];
      if (command.kind != CommandKind::Copy || isRemovedCommand[i])
        continue;
      const ResidencyId to = command.writes[0];
      const Residency &made = plan.residencies[to.index()];
      if (readers[to.index()] > 0 || made.segment == Segment::Home || isKeptForNextStep(made))
        continue;
      isRemovedCommand[i] = isRemovedResidency[to.index()] = 1;
      --readers[command.reads[0].index()];
      isFound = true;
    }
    return isFound;
  }

  /// A command that waited for a removed one waits for what came before that: for the stream's command before it, and
  /// for the commands that it waited for. The planner may have relied on either order.
  void removeCommands() {
    const size_t numStreams = plan.streams.size();
    std::vector<CommandId> newIds(plan.commands.size());
    std::vector<CommandId> latest(numStreams);                        // Per stream: its last command that stays.
    std::vector<std::vector<CommandId>> before(plan.commands.size()); // Per removed command, by new ids.
    std::vector<std::vector<CommandId>> pending(numStreams); // Waits of removed commands, for the stream's next one.
    std::vector<Command> commands;
    std::vector<CommandId> waits(numStreams);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      Command &command = plan.commands[i];
      std::fill(waits.begin(), waits.end(), CommandId());
      auto wait = [&](CommandId id) {
        CommandId &last = waits[commands[id.index()].stream.index()];
        if (!last.valid() || last < id)
          last = id;
      };
      for (CommandId earlier : command.waits) {
        if (newIds[earlier.index()].valid())
          wait(newIds[earlier.index()]);
        for (CommandId id : before[earlier.index()])
          wait(id);
      }
      for (CommandId id : pending[command.stream.index()])
        wait(id);
      pending[command.stream.index()].clear();
      CommandId &last = latest[command.stream.index()];
      waits[command.stream.index()] = isRemovedCommand[i] ? last : CommandId();
      command.waits.clear();
      std::copy_if(waits.begin(), waits.end(), std::back_inserter(command.waits),
                   [](CommandId id) { return id.valid(); });
      if (isRemovedCommand[i]) {
        before[i] = command.waits;
        pending[command.stream.index()] = std::move(command.waits);
        continue;
      }
      last = newIds[i] = CommandId(commands.size());
      commands.push_back(std::move(command));
    }
    plan.commands = std::move(commands);
  }

  void removeResidencies() {
    std::vector<ResidencyId> newIds(plan.residencies.size());
    std::vector<Residency> residencies;
    std::fill(plan.arenaBytes.begin(), plan.arenaBytes.end(), 0);
    for (size_t i = 0; i < plan.residencies.size(); ++i) {
      if (isRemovedResidency[i])
        continue;
      const Residency &r = plan.residencies[i];
      newIds[i] = ResidencyId(residencies.size());
      residencies.push_back(r);
      if (r.segment == Segment::Arena)
        plan.arenaBytes[r.memory.index()] = std::max(plan.arenaBytes[r.memory.index()], r.offset + r.bytes);
    }
    plan.residencies = std::move(residencies);
    for (Command &command : plan.commands)
      for (std::vector<ResidencyId> *list : {&command.reads, &command.writes})
        for (ResidencyId &r : *list)
          r = newIds[r.index()];
  }

  const Graph &graph;
  Plan &plan;
  std::vector<uint32_t> readers;    ///< Per residency.
  std::vector<ResidencyId> initial; ///< Those in arenas.
  std::vector<uint8_t> isRemovedCommand, isRemovedResidency;
};

} // namespace

bool swap::removeUnreadCopies(const Graph &graph, Plan &plan) { return UnreadCopies(graph, plan).remove(); }
