//===- SimulatorTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Times are worked out by hand: a link of 1 byte a nanosecond one way, 1.5 both
// ways together, latency 10 ns; operators of 100 ns.
//
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Simulator.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;

namespace {
struct Bench {
  Graph graph;
  Machine machine;
  CostTable costs;
  Plan plan;

  explicit Bench(int devices = 1) {
    machine.name = "bench";
    machine.memories.push_back({"host"});
    machine.devices.push_back({});
    machine.devices[0].name = "cpu";
    machine.devices[0].memory = MemoryId(0u);
    for (int i = 1; i <= devices; ++i) {
      machine.memories.push_back({concat("m", i)});
      Device device;
      device.name = concat("d", i);
      device.memory = MemoryId(i);
      machine.devices.push_back(device);
      machine.links.push_back({MemoryId(0u), MemoryId(i), 1e9, 1.5e9, 10, false});
      for (StreamKind kind : {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut})
        plan.streams.push_back({DeviceId(i), kind});
    }
    costs.numDevices = machine.devices.size();
  }
  TensorId tensor(int64_t bytes) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.bytes = bytes;
    return graph.addTensor(tensor);
  }
  ResidencyId residency(TensorId tensor, uint32_t memory, int64_t offset = 0, bool initial = false) {
    int64_t bytes = tensor.valid() ? graph.tensor(tensor).bytes : 64;
    plan.residencies.push_back({tensor, MemoryId(memory), Segment::Arena, offset, bytes, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  /// A launch of 100 ns on device 1 + stream / 3.
  CommandId launch(std::vector<ResidencyId> reads, std::vector<ResidencyId> writes, std::vector<CommandId> waits,
                   uint32_t stream = 0) {
    Operator op;
    op.name = concat("op", graph.numOperators());
    OperatorId id = graph.addOperator(op);
    plan.placement.push_back(plan.streams[stream].device);
    costs.operatorNs.resize(costs.operatorNs.size() + costs.numDevices, 100);
    plan.commands.push_back({CommandKind::Launch, StreamId(stream), id, {}, reads, writes, waits});
    return CommandId(plan.commands.size() - 1);
  }
  CommandId copy(uint32_t stream, int64_t bytes, bool in, std::vector<CommandId> waits = {}) {
    TensorId t = tensor(bytes);
    uint32_t memory = static_cast<uint32_t>(plan.streams[stream].device.index());
    ResidencyId host = residency(t, 0), device = residency(t, memory);
    plan.commands.push_back({CommandKind::Copy,
                             StreamId(stream),
                             {},
                             LinkId(memory - 1),
                             {in ? host : device},
                             {in ? device : host},
                             waits});
    return CommandId(plan.commands.size() - 1);
  }
  Timeline run() { return simulate(graph, machine, costs, plan); }
};
} // namespace

static void checkTimes(const Timeline &timeline, std::vector<std::pair<int64_t, int64_t>> expected) {
  REQUIRE(timeline.commands.size() == expected.size());
  int64_t last = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(timeline.commands[i].startNs == expected[i].first);
    CHECK(timeline.commands[i].endNs == expected[i].second);
    last = std::max(last, expected[i].second);
  }
  CHECK(timeline.makespanNs == last);
}

TEST_CASE("an empty plan takes no time", "[simulator]") {
  Bench b;
  CHECK(b.run().makespanNs == 0);
}

TEST_CASE("a stream runs in order, streams side by side", "[simulator]") {
  Bench b(2);
  b.launch({}, {}, {});
  b.launch({}, {}, {});
  b.launch({}, {}, {}, 3);
  checkTimes(b.run(), {{0, 100}, {100, 200}, {0, 100}});
}

TEST_CASE("a copy alone takes latency and bytes", "[simulator]") {
  Bench b;
  CommandId in = b.copy(1, 500, true);
  b.launch({}, {}, {in});
  checkTimes(b.run(), {{0, 510}, {510, 610}});
  CHECK(transferTimeNs(b.machine.links[0], 500) == 510);
}

TEST_CASE("waits hold back a whole stream, and only it", "[simulator]") {
  Bench b;
  CommandId first = b.launch({}, {}, {}); // 0-100
  CommandId in = b.copy(1, 40, true);     // 0-50
  CommandId out = b.copy(2, 90, false, {first});
  b.launch({}, {}, {in, out}); // Both: the later counts.
  b.copy(1, 0, true, {out});   // Latency alone.
  checkTimes(b.run(), {{0, 100}, {0, 50}, {100, 200}, {200, 300}, {200, 210}});
}

TEST_CASE("the critical path is what each command waited for longest", "[simulator]") {
  Bench b(2);
  CommandId first = b.launch({}, {}, {}); // 0-100
  CommandId in = b.copy(1, 40, true);     // 0-50
  CommandId out = b.copy(2, 90, false, {first});
  CommandId last = b.launch({}, {}, {in, out}); // 200-300
  b.launch({}, {}, {}, 3);                      // Another device: 0-100.
  CHECK(criticalPath(b.plan, b.run()) == std::vector<CommandId>{first, out, last});
  b.launch({}, {}, {in}, 3); // 100-200, behind its own stream's.
  b.launch({}, {}, {}, 3);   // 200-300: the first of two to end last.
  CHECK(criticalPath(b.plan, b.run()) == std::vector<CommandId>{first, out, last});
  CommandId longest = b.launch({}, {}, {}, 3); // 300-400
  CHECK(criticalPath(b.plan, b.run()).back() == longest);
  CHECK(criticalPath(b.plan, b.run()).size() == 4);
  CHECK(criticalPath({}, {}).empty());
}

TEST_CASE("a stream that slept wakes an event latency later, a busy one at once", "[simulator]") {
  Bench b;
  b.machine.links[0].eventLatencyNs = 7;
  CommandId in = b.copy(1, 40, true);       // 0-50
  CommandId first = b.launch({}, {}, {in}); // 57-157
  b.copy(2, 90, false, {first});            // 164-264
  CommandId early = b.copy(1, 20, true);    // 50-80
  b.launch({}, {}, {early});                // Its stream works until 157.
  checkTimes(b.run(), {{0, 50}, {57, 157}, {164, 264}, {50, 80}, {157, 257}});
}

TEST_CASE("directions share the duplex rate while both are busy", "[simulator]") {
  Bench b;
  b.copy(1, 750, true);
  b.copy(2, 1500, false);
  // From 10: 0.75 each. In is done at 10 + 1000; out has 750 left, alone at 1.
  checkTimes(b.run(), {{0, 1010}, {0, 1760}});
}

TEST_CASE("a copy that joins late slows what remains", "[simulator]") {
  Bench b;
  CommandId first = b.launch({}, {}, {}); // 0-100
  b.copy(1, 400, true);                   // From 10 at 1: 100 served by 110.
  b.copy(2, 150, false, {first});         // Joins at 110.
  // Both at 0.75 from 110: out done at 310, in has 300 - 150 = 150 left: 460.
  checkTimes(b.run(), {{0, 100}, {0, 460}, {100, 310}});
}

TEST_CASE("copies of one direction share it equally", "[simulator]") {
  Bench b(2);
  // A second device's streams over the first's link: two copies at once.
  b.copy(1, 100, true);
  b.copy(2, 300, true);
  // Half each from 10: first done at 210; second has 200 left, alone: 410.
  checkTimes(b.run(), {{0, 210}, {0, 410}});
}

TEST_CASE("two in, one out: each direction has its half of the duplex rate", "[simulator]") {
  Bench b;
  b.plan.streams.push_back({DeviceId(1), StreamKind::Compute});
  b.copy(0, 75, true);
  b.copy(1, 75, true);
  b.copy(2, 150, false);
  // In: 0.375 each, both done at 10 + 200; out: 0.75, done at 210 too.
  checkTimes(b.run(), {{0, 210}, {0, 210}, {0, 210}});
}

TEST_CASE("links of different devices do not disturb each other", "[simulator]") {
  Bench b(2);
  b.copy(1, 500, true);
  b.copy(5, 500, false);
  checkTimes(b.run(), {{0, 510}, {0, 510}});
}

TEST_CASE("a full-duplex link has no contention between directions", "[simulator]") {
  Bench b;
  b.machine.links[0].duplexBytesPerSec = 2e9;
  b.copy(1, 500, true);
  b.copy(2, 500, false);
  checkTimes(b.run(), {{0, 510}, {0, 510}});
}

TEST_CASE("bytes are conserved under random contention", "[simulator]") {
  // However copies interleave, a link busy both ways moves 1.5 bytes a
  // nanosecond and one way 1: the makespan of two full queues is exact.
  Bench b;
  b.machine.links[0].latencyNs = 0;
  int64_t in = 0, out = 0;
  for (int64_t i = 1; i <= 50; ++i) {
    b.copy(1, 37 * i % 101 + 1, true);
    in += 37 * i % 101 + 1;
    b.copy(2, 53 * i % 97 + 1, false);
    out += 53 * i % 97 + 1;
  }
  int64_t less = std::min(in, out), more = std::max(in, out);
  double exact = static_cast<double>(less) / 0.75 + static_cast<double>(more - less);
  int64_t makespan = b.run().makespanNs;
  CHECK(makespan >= exact);
  CHECK(makespan <= exact + 100); // Each copy's end rounds up to a nanosecond.
}

TEST_CASE("the same plan has the same timeline", "[simulator]") {
  Bench b;
  for (int64_t i = 0; i < 30; ++i) {
    CommandId in = b.copy(1, 100 + i, true);
    CommandId run = b.launch({}, {}, {in});
    b.copy(2, 90 + i, false, {run});
  }
  Timeline first = b.run(), second = b.run();
  for (size_t i = 0; i < first.commands.size(); ++i) {
    CHECK(first.commands[i].startNs == second.commands[i].startNs);
    CHECK(first.commands[i].endNs == second.commands[i].endNs);
  }
}

TEST_CASE("memory in use follows the residencies", "[simulator]") {
  Bench b;
  TensorId w = b.tensor(100), x = b.tensor(200), y = b.tensor(300);
  ResidencyId kept = b.residency(w, 1, 0, true);
  ResidencyId rx = b.residency(x, 1, 128), ry = b.residency(y, 1, 384);
  b.launch({kept}, {rx}, {});
  b.launch({rx}, {ry}, {});
  b.launch({ry}, {b.residency(b.tensor(50), 1, 128)}, {});
  MemoryProfile profile = memoryProfile(b.machine, b.plan, b.run());
  CHECK(profile.peakBytes == std::vector<int64_t>{0, 600});
  std::vector<std::pair<int64_t, int64_t>> samples;
  for (const MemoryProfile::Sample &sample : profile.perMemory[1])
    samples.emplace_back(sample.timeNs, sample.bytes);
  CHECK(samples == std::vector<std::pair<int64_t, int64_t>>{{0, 300}, {100, 600}, {200, 450}, {300, 0}});
  CHECK(profile.perMemory[0].empty());
}

TEST_CASE("in-place results take no second room", "[simulator]") {
  Bench b;
  ResidencyId rx = b.residency(b.tensor(200), 1, 0), ry = b.residency(b.tensor(200), 1, 0);
  b.launch({}, {rx}, {});
  b.launch({rx}, {ry}, {});
  MemoryProfile profile = memoryProfile(b.machine, b.plan, b.run());
  CHECK(profile.peakBytes[1] == 200);
}

TEST_CASE("a kept place that was lent counts for each of its guests", "[simulator]") {
  Bench b;
  TensorId w = b.tensor(100);
  ResidencyId kept = b.residency(w, 1, 0, true), guest = b.residency(b.tensor(64), 1, 0);
  b.launch({kept}, {}, {});                 // 0-100
  b.launch({}, {guest}, {});                // 100-200
  b.launch({}, {b.residency(w, 1, 0)}, {}); // 200-300: back again.
  b.launch({}, {}, {});                     // 300-400
  MemoryProfile profile = memoryProfile(b.machine, b.plan, b.run());
  std::vector<std::pair<int64_t, int64_t>> samples;
  for (const MemoryProfile::Sample &sample : profile.perMemory[1])
    samples.emplace_back(sample.timeNs, sample.bytes);
  CHECK(samples == std::vector<std::pair<int64_t, int64_t>>{{0, 100}, {100, 64}, {200, 100}, {400, 0}});
}

TEST_CASE("traces have a track a stream and an event a command", "[simulator]") {
  Bench b;
  CommandId in = b.copy(1, 500, true);
  b.launch({}, {}, {in});
  Json trace = traceJson(b.graph, b.machine, b.plan, b.run());
  size_t tracks = 0, commands = 0;
  for (const Json &event : trace["traceEvents"]) {
    tracks += event["name"] == "thread_name";
    if (event["ph"] != "X")
      continue;
    ++commands;
    if (event["cat"] == "copy") {
      CHECK(event["ts"] == 0.0);
      CHECK(event["dur"] == 0.51);
      CHECK(event["args"]["bytes"] == 500);
      CHECK(event["tid"] == 1);
    } else {
      CHECK(event["ts"] == 0.51);
      CHECK(event["dur"] == 0.1);
    }
  }
  CHECK(tracks == 3);
  CHECK(commands == 2);
}

namespace {
/// Device 1 with a file behind the link to the host: 0.25 bytes a nanosecond to the file, `inBytesPerNs` back.
struct FileBench : Bench {
  explicit FileBench(double inBytesPerNs) {
    machine.memories.push_back({"ssd"});
    machine.memories.back().kind = MemoryKind::File;
    Link link;
    link.a = MemoryId(1u);
    link.b = MemoryId(2u);
    link.bytesPerSec = 0.25e9;
    link.reverseBytesPerSec = inBytesPerNs * 1e9;
    link.duplexBytesPerSec = link.bytesPerSec + link.reverseBytesPerSec;
    link.latencyNs = 10;
    link.trunk = LinkId(0u);
    machine.links.push_back(link);
    plan.streams.push_back({DeviceId(1), StreamKind::FileIn});
    plan.streams.push_back({DeviceId(1), StreamKind::FileOut});
    REQUIRE(machine.check());
  }
  CommandId copyFile(bool in, int64_t bytes) {
    TensorId t = tensor(bytes);
    ResidencyId file = residency(t, 2), device = residency(t, 1);
    plan.commands.push_back(
        {CommandKind::Copy, StreamId(in ? 3U : 4U), {}, LinkId(1u), {in ? file : device}, {in ? device : file}, {}});
    return CommandId(plan.commands.size() - 1);
  }
};
} // namespace

TEST_CASE("a link has a rate each way", "[simulator]") {
  FileBench b(0.5);
  b.copyFile(false, 100);
  checkTimes(b.run(), {{0, 410}});
  FileBench back(0.5);
  back.copyFile(true, 100);
  checkTimes(back.run(), {{0, 210}});
}

TEST_CASE("a link takes its rate off its trunk's", "[simulator]") {
  FileBench b(0.5);
  b.copyFile(false, 100); // 0.25 a nanosecond.
  b.copy(2, 600, false);  // 0.75, and 1 once the file has its bytes.
  checkTimes(b.run(), {{0, 410}, {0, 710}});
}

TEST_CASE("a trunk's copies share its rate equally where their links could do more", "[simulator]") {
  FileBench b(0.8);
  b.copyFile(true, 200); // 0.5 a nanosecond, then its link's 0.8.
  b.copy(1, 100, true);  // 0.5.
  checkTimes(b.run(), {{0, 335}, {0, 210}});
}

TEST_CASE("directions of unequal rates share a duplex rate by their rates", "[simulator]") {
  FileBench b(0.5);
  b.machine.links[1].duplexBytesPerSec = 0.6e9;
  b.copyFile(false, 20); // 0.2 a nanosecond.
  b.copyFile(true, 80);  // 0.4, and 0.5 alone.
  checkTimes(b.run(), {{0, 110}, {0, 190}});
}

TEST_CASE("a trunk's two directions are both busy where links use both", "[simulator]") {
  FileBench b(0.5);
  b.machine.links[0].duplexBytesPerSec = 1e9; // 0.5 each way.
  b.copyFile(true, 200);                      // 0.5 a nanosecond.
  b.copy(2, 200, false);                      // 0.5, as the file's copy uses the other direction.
  checkTimes(b.run(), {{0, 410}, {0, 410}});
}
