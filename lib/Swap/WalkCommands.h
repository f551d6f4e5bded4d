//===- WalkCommands.h - The commands of a walk ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_WALKCOMMANDS_H
#define SLUICE_LIB_SWAP_WALKCOMMANDS_H

#include "sluice/Plan/Plan.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice::swap {

/// Commands as in a plan, but the lists of all commands are in one array. Most walks are slower than another one, and
/// their plans are never built.
class WalkCommands {
public:
  size_t size() const { return heads.size(); }
  void reserve(size_t count) {
    heads.reserve(count);
    ids.reserve(4 * count);
  }
  StreamId stream(CommandId id) const { return heads[id.index()].stream; }
  /// A copy has no operator, and a launch no link.
  void add(StreamId stream, OperatorId op, LinkId link, std::span<const ResidencyId> reads,
           std::span<const ResidencyId> writes, std::span<const CommandId> waits) {
    heads.push_back({stream, op, link, static_cast<uint32_t>(reads.size()), static_cast<uint32_t>(writes.size()),
                     static_cast<uint32_t>(waits.size())});
    append(reads);
    append(writes);
    append(waits);
  }
  std::vector<Command> list() const {
    std::vector<Command> commands;
    commands.reserve(heads.size());
    const uint32_t *at = ids.data();
    for (const Head &head : heads) {
      Command &command = commands.emplace_back();
      command.kind = head.op.valid() ? CommandKind::Launch : CommandKind::Copy;
      command.stream = head.stream;
      command.op = head.op;
      command.link = head.link;
      auto take = [&](auto &list, uint32_t count) {
        list.reserve(count);
        for (const uint32_t *end = at + count; at != end; ++at)
          list.emplace_back(*at);
      };
      take(command.reads, head.reads);
      take(command.writes, head.writes);
      take(command.waits, head.waits);
    }
    return commands;
  }

private:
  struct Head {
    StreamId stream;
    OperatorId op;
    LinkId link;
    uint32_t reads, writes, waits; ///< How many.
  };
  template <typename T>
  void append(std::span<const T> list) {
    for (T id : list)
      ids.push_back(id.value);
  }

  std::vector<Head> heads;
  std::vector<uint32_t> ids; ///< For each command: its reads, its writes, and the commands for which it waits.
};

/// The result of a walk.
struct Walk {
  Plan plan; ///< Without commands.
  WalkCommands commands;

  Plan toPlan() && {
    plan.commands = commands.list();
    return std::move(plan);
  }
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_WALKCOMMANDS_H
