//===- GroupsTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Groups.h"
#include "sluice/Machine/Machine.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {

constexpr int64_t kTaskNs = 1000;

/// A program of tasks and messages, each on the tensor that the one before it made.
class ChainMaker {
public:
  explicit ChainMaker(std::vector<int64_t> shape) : shape(std::move(shape)) {}

  /// A task of kTaskNs on one device of the machine below.
  void task() {
    ProgramOperator &op = add(last ? std::vector<TensorId>{*last} : std::vector<TensorId>(), shape);
    op.bytesMoved = op.flops = kTaskNs;
    TilingRule rule;
    rule.name = "dim 0";
    rule.operands.assign(op.operands.size(), AxisTiling::split(0));
    rule.results = {AxisTiling::split(0)};
    rule.divisor = shape[0];
    op.rules.push_back(rule);
  }
  void send(int64_t to) {
    const TensorId data = *last;
    message(add({data}, {}), to, {AxisTiling::split(0)}, {AxisTiling()});
    last = data;
  }
  void receive(int64_t from) { message(add({}, shape), from, {}, {AxisTiling::split(0)}); }

  TensorProgram program;
  std::vector<int64_t> shape;

private:
  ProgramOperator &add(std::vector<TensorId> operands, const std::vector<int64_t> &result) {
    const std::string name = "op" + std::to_string(program.operators.size());
    program.tensors.push_back({name, result, 4, TensorRole::Intermediate});
    ProgramOperator op;
    op.name = name;
    op.operands = std::move(operands);
    op.results = {*(last = TensorId(program.tensors.size() - 1))};
    op.rules = {replicatedRule(op.operands.size(), 1)};
    program.operators.push_back(std::move(op));
    return program.operators.back();
  }
  void message(ProgramOperator &op, int64_t peer, std::vector<AxisTiling> operands, std::vector<AxisTiling> results) {
    op.peer = peer;
    TilingRule rule;
    rule.name = "dim 0";
    rule.operands = std::move(operands);
    rule.results = std::move(results);
    rule.divisor = shape[0];
    op.rules.push_back(rule);
  }

  std::optional<TensorId> last;
};

/// 1 flop and many bytes a nanosecond, and messages of 1 byte a nanosecond behind 10 ns between all groups.
GroupMachine machineOf(std::vector<int64_t> axes, size_t groups = 2, GroupLink link = {1e9, 10}) {
  GroupMachine machine;
  for (int64_t size : axes)
    machine.group.mesh.axes.push_back({"axis" + std::to_string(machine.group.mesh.axes.size()), size});
  machine.group.flopsPerSec = 1e9;
  machine.group.memoryBytesPerSec = 1e12;
  machine.group.launchOverheadNs = 0;
  machine.links.assign(groups * groups, link);
  return machine;
}

/// The program tiled by the default solver, whose answer the library validates.
GroupProgram groupOf(ChainMaker chain, const GroupMachine &machine) {
  PartitionSolution solution = solvePartition(chain.program, machine.group).value();
  return {std::move(chain.program), std::move(solution.tiling), std::move(solution.report.conversions)};
}

/// One task for each microbatch in each group, whose result goes to the next group.
std::vector<GroupProgram> forwardPasses(int64_t groups, int64_t microbatches, const std::vector<int64_t> &shape,
                                        const GroupMachine &machine) {
  std::vector<GroupProgram> programs;
  for (int64_t group = 0; group < groups; ++group) {
    ChainMaker chain(shape);
    for (int64_t i = 0; i < microbatches; ++i) {
      if (group > 0)
        chain.receive(group - 1);
      chain.task();
      if (group + 1 < groups)
        chain.send(group + 1);
    }
    programs.push_back(groupOf(chain, machine));
  }
  return programs;
}

} // namespace

TEST_CASE("a message begins when both ends have reached it", "[tiling]") {
  const GroupMachine machine = machineOf({1});
  ChainMaker first({10, 5}), second({10, 5});
  first.task();
  first.send(1);
  first.task();
  second.receive(0);
  second.task();
  const GroupTimeline timeline = simulateGroups({groupOf(first, machine), groupOf(second, machine)}, machine).value();
  // 200 bytes: the second task of the first group runs meanwhile.
  CHECK(timeline.makespanNs == kTaskNs + 10 + 200 + kTaskNs);
  CHECK(timeline.computeNs == std::vector<int64_t>{2 * kTaskNs, kTaskNs});
}

TEST_CASE("a chain of forward passes has the bubbles of a pipeline", "[tiling]") {
  constexpr int64_t kGroups = 4, kMicrobatches = 6;
  const GroupMachine machine = machineOf({1}, kGroups, {1e18, 0});
  const GroupTimeline timeline =
      simulateGroups(forwardPasses(kGroups, kMicrobatches, {4, 4}, machine), machine).value();
  CHECK(timeline.makespanNs == (kMicrobatches + kGroups - 1) * kTaskNs);
  for (int64_t ns : timeline.computeNs)
    CHECK(ns == kMicrobatches * kTaskNs);
}

TEST_CASE("a message between groups of ranks goes in the parts that divide", "[tiling]") {
  const auto axes = GENERATE(std::vector<int64_t>{2}, std::vector<int64_t>{2, 2}, std::vector<int64_t>{3});
  const auto rows = GENERATE(int64_t(12), int64_t(10), int64_t(7));
  const GroupMachine machine = machineOf(axes);
  const int64_t ranks = machine.group.mesh.numDevices();
  ChainMaker first({rows, 5}), second({rows, 5});
  first.task();
  first.send(ranks);
  second.receive(0);
  second.task();
  // Of the axes in order, those that divide what the axes before them have left.
  int64_t parts = 1;
  std::vector<uint32_t> rules;
  for (int64_t size : axes) {
    rules.push_back(rows % (parts * size) == 0);
    parts *= rules.back() == 1 ? size : 1;
  }
  for (const std::string &solver : partitionSolverNames()) {
    PartitionParams params;
    params.solver = solver;
    for (ChainMaker *chain : {&first, &second}) {
      PartitionSolution solution = solvePartition(chain->program, machine.group, params).value();
      CHECK(solution.tiling.rules[chain == &first ? 1 : 0] == rules);
      // An end with other parts is found.
      solution.tiling.rules[chain == &first ? 1 : 0].front() = 1 - rules.front();
      CHECK_FALSE(validateTiling(chain->program, machine.group.mesh, solution.tiling));
    }
  }
  const GroupTimeline timeline = simulateGroups({groupOf(first, machine), groupOf(second, machine)}, machine).value();
  CHECK(timeline.makespanNs >= 10 + rows * 5 * 4 / parts + 2 * (kTaskNs / ranks));
}

TEST_CASE("a message takes the time of the link between its groups", "[tiling]") {
  constexpr int64_t kGroups = 3;
  GroupMachine machine = machineOf({1}, kGroups);
  const std::vector<GroupProgram> groups = forwardPasses(kGroups, 1, {10, 5}, machine);
  auto simulated = [&] { return simulateGroups(groups, machine); };
  CHECK(simulated()->makespanNs == 3 * kTaskNs + 2 * (10 + 200));
  machine.links[1 * kGroups + 2] = {1e8, 500};
  CHECK(simulated()->makespanNs == 3 * kTaskNs + 10 + 200 + 500 + 2000);
  // No message goes from the first group to the last.
  machine.links[0 * kGroups + 2] = {0, 0};
  CHECK(simulated()->makespanNs == 3 * kTaskNs + 10 + 200 + 500 + 2000);
  machine.links[0 * kGroups + 1] = {0, 0};
  CHECK(simulated().error().message.find("goes from group 0 to group 1, between which two devices have no link") !=
        std::string::npos);
  machine.links.pop_back();
  CHECK(simulated().error().message ==
        "3 groups of ranks need 9 links and have 8, give one link from each group to each group, also to itself");
}

TEST_CASE("groups of a machine's devices have the links between their ranks", "[tiling]") {
  Machine machine = loadMachine("emulated:4").value();
  const std::vector<DeviceId> devices = machine.computeDevices();
  auto linkOf = [&](size_t a, size_t b) -> Link & {
    return machine
        .links[machine.findLink(machine.device(devices[a]).memory, machine.device(devices[b]).memory).index()];
  };
  const int64_t latencyNs = linkOf(0, 1).latencyNs;
  linkOf(1, 2).latencyNs = 77'000'000;
  const GroupMachine four = groupMachine(machine, 4, 1).value();
  CHECK(four.group.mesh.numDevices() == 1);
  CHECK(four.links[0 * 4 + 1].latencyNs == latencyNs);
  CHECK(four.links[1 * 4 + 2].latencyNs == 77'000'000);
  CHECK(four.links[2 * 4 + 3].latencyNs == latencyNs);
  // Groups {0, 1} and {2, 3}: rank 1 sends to rank 3.
  const GroupMachine two = groupMachine(machine, 2, 2).value();
  CHECK(two.links[0 * 2 + 1].latencyNs == latencyNs);
  CHECK(two.group.mesh.axes[0].latencyNs == latencyNs);
  // The second group's link slows the axis of both.
  linkOf(2, 3).latencyNs = 88'000'000;
  CHECK(groupMachine(machine, 2, 2)->group.mesh.axes[0].latencyNs == 88'000'000);
  // Shares of one device meet in its memory.
  const GroupMachine shares = groupMachine(loadMachine("host").value(), 2, 2).value();
  CHECK(shares.links[1].bytesPerSec == shares.group.memoryBytesPerSec);
  CHECK(shares.group.mesh.axes[0].bytesPerSec == shares.group.memoryBytesPerSec);
}

TEST_CASE("groups that wait for each other forever are refused", "[tiling]") {
  const GroupMachine machine = machineOf({1});
  auto errorOf = [&](const ChainMaker &first, const ChainMaker &second) {
    return simulateGroups({groupOf(first, machine), groupOf(second, machine)}, machine).error().message;
  };
  ChainMaker first({4, 4}), second({4, 4});
  first.receive(1);
  first.send(1);
  second.receive(0);
  second.send(0);
  CHECK(errorOf(first, second).find("message 'op0' between two groups of ranks waits forever") == 0);
  ChainMaker away({4, 4}), none({4, 4});
  away.task();
  away.send(2);
  none.task();
  CHECK(errorOf(away, none)
            .find("message 'op1' between two groups of ranks goes to rank 2, which is in no other group") == 0);
  ChainMaker small({4, 4}), large({4, 8});
  small.task();
  small.send(1);
  large.receive(0);
  CHECK(errorOf(small, large)
            .find("message 'op1' between two groups of ranks has 64 bytes, and its receiver waits for 128") == 0);
}
