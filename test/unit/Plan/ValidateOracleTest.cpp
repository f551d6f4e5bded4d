//===- ValidateOracleTest.cpp ---------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The validator against the definition: on random small plans, happens-before as
// a reachability matrix and every pair of residencies compared.
//
//===----------------------------------------------------------------------===//

#include "sluice/Plan/Plan.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice;

namespace {
struct Instance {
  Graph graph;
  Machine machine;
  Plan plan;
};
} // namespace

/// A random graph on three devices of one memory; addresses and missing waits by
/// chance, so that about half of the plans are valid.
static Instance randomInstance(Rng &rng) {
  Instance r;
  r.machine.name = "three";
  r.machine.memories.push_back({"host"});
  for (int i = 0; i < 3; ++i) {
    Device device;
    device.name = concat("d", i);
    device.memory = MemoryId(0u);
    r.machine.devices.push_back(device);
    r.plan.streams.push_back({DeviceId(i), StreamKind::Compute});
  }
  constexpr int64_t kSlots = 9;
  r.plan.arenaBytes = {64 * (kSlots + 1)};
  size_t count = 3 + rng.below(6);
  for (size_t i = 0; i < count; ++i) {
    Tensor tensor;
    tensor.bytes = 64;
    Operator op;
    op.name = concat(i);
    Command command;
    for (size_t j = 0; j < i; ++j)
      if (rng.chance(0.25)) {
        op.inputs.emplace_back(j);
        command.reads.emplace_back(j);
      }
    if (!op.inputs.empty() && rng.chance(0.5))
      op.inPlace = {{0, 0}};
    op.outputs = {r.graph.addTensor(tensor)};
    command.op = r.graph.addOperator(op);
    command.writes = {ResidencyId(i)};
    command.stream = StreamId(rng.below(3));
    for (ResidencyId read : command.reads)
      if (!rng.chance(0.03))
        command.waits.emplace_back(read.index());
    for (size_t j = 0; j < i; ++j)
      if (rng.chance(0.15))
        command.waits.emplace_back(j);
    r.plan.placement.emplace_back(command.stream.index());
    r.plan.commands.push_back(command);
    int64_t offset = 64 * static_cast<int64_t>(rng.below(kSlots));
    if (!op.inPlace.empty() && rng.chance(0.7))
      offset = r.plan.residencies[op.inputs[0].index()].offset;
    int64_t bytes = rng.chance(0.2) ? 128 : 64;
    r.plan.residencies.push_back({op.outputs[0], MemoryId(0u), Segment::Arena, offset, bytes, false});
  }
  return r;
}

static bool isValidByDefinition(const Instance &r) {
  size_t count = r.plan.commands.size();
  // before[a][b]: command a is complete before b starts.
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
  for (size_t b = 0; b < count; ++b)
    for (size_t a = 0; a < b; ++a) {
      const Command &x = r.plan.commands[a], &y = r.plan.commands[b];
      bool direct = x.stream == y.stream || std::find(y.waits.begin(), y.waits.end(), CommandId(a)) != y.waits.end();
      if (!direct)
        continue;
      before[a][b] = true;
      for (size_t c = 0; c < a; ++c)
        if (before[c][a])
          before[c][b] = true;
    }
  // Residency i is command i's result.
  auto touching = [&](size_t residency) {
    std::vector<size_t> commands{residency};
    for (size_t c = 0; c < count; ++c) {
      const std::vector<ResidencyId> &reads = r.plan.commands[c].reads;
      if (std::find(reads.begin(), reads.end(), ResidencyId(residency)) != reads.end())
        commands.push_back(c);
    }
    return commands;
  };
  for (size_t residency = 0; residency < count; ++residency)
    for (size_t c : touching(residency))
      if (c != residency && !before[residency][c])
        return false;
  auto goesFirst = [&](size_t first, size_t second) {
    for (size_t c : touching(first)) {
      if (before[c][second])
        continue;
      const Operator &op = r.graph.op(OperatorId(second));
      bool inPlace = c == second && c != first && !op.inPlace.empty() && op.inputs[0].index() == first &&
                     r.plan.residencies[first].offset == r.plan.residencies[second].offset;
      if (!inPlace)
        return false;
    }
    return true;
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t j = i + 1; j < count; ++j) {
      const Residency &x = r.plan.residencies[i], &y = r.plan.residencies[j];
      bool overlap = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
      if (overlap && !goesFirst(i, j) && !goesFirst(j, i))
        return false;
    }
  return true;
}

TEST_CASE("the validator agrees with the definition on random plans", "[plan]") {
  Rng rng(11);
  int valid = 0, invalid = 0;
  for (int i = 0; i < 20000; ++i) {
    Instance r = randomInstance(rng);
    bool expected = isValidByDefinition(r);
    Status status = validatePlan(r.graph, r.machine, r.plan);
    INFO((status ? "accepted" : status.error().message));
    REQUIRE(status.has_value() == expected);
    ++(expected ? valid : invalid);
  }
  CHECK(valid > 2000); // Both kinds are drawn often.
  CHECK(invalid > 2000);
}
