//===- ValidateTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ExamplePlan.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <limits>

using namespace sluice;
using Catch::Contains;

TEST_CASE("the example plan is valid", "[plan]") {
  Example e;
  Status status = validatePlan(e.graph, e.machine, e.plan);
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
}

namespace {
struct Mutation {
  const char *name;
  std::function<void(Example &)> apply;
  const char *reason;
};
} // namespace

/// One entry a rule of validatePlan, broken alone.
static const std::vector<Mutation> &mutations() {
  static const std::vector<Mutation> list = {
      // Placement, streams, arenas.
      {"placement too short", [](Example &e) { e.plan.placement.pop_back(); }, "placement has 3 entries"},
      {"placed nowhere", [](Example &e) { e.plan.placement[0] = DeviceId(); }, "device that does not exist"},
      {"placed on a feeder", [](Example &e) { e.plan.placement[0] = DeviceId(0); }, "does not compute"},
      {"stream of no device", [](Example &e) { e.plan.streams[1].device = DeviceId(7); },
       "stream names a device that does not exist"},
      {"two streams of a kind", [](Example &e) { e.plan.streams[1].kind = StreamKind::SwapOut; },
       "two streams of one kind"},
      {"arena missing", [](Example &e) { e.plan.arenaBytes.pop_back(); }, "1 arenas for 2 memories"},
      {"arena negative", [](Example &e) { e.plan.arenaBytes[0] = -64; }, "negative size"},
      {"arena over capacity", [](Example &e) { e.machine.memories[1].capacityBytes = 255; },
       "256 bytes, and the capacity is 255"},
      // Residencies.
      {"memory does not exist", [](Example &e) { e.at(e.tAcc).memory = MemoryId(2); }, "memory that does not exist"},
      {"tensor does not exist", [](Example &e) { e.at(e.tAcc).tensor = TensorId(99); }, "tensor that does not exist"},
      {"too few bytes", [](Example &e) { e.at(e.tAcc).bytes = 63; }, "has 63 bytes, and its data needs "},
      {"negative workspace", [](Example &e) { e.at(e.workspace).bytes = -1; }, "has -1 bytes, and its data needs "},
      {"workspace at home", [](Example &e) { e.at(e.workspace).segment = Segment::Home; },
       "is a home without a tensor"},
      {"activation at home", [](Example &e) { e.at(e.tHost).segment = Segment::Home; }, "the home of an activation"},
      {"home on a device", [](Example &e) { e.at(e.xHome).memory = MemoryId(1); }, "home outside host memory"},
      {"home with an offset", [](Example &e) { e.at(e.xHome).offset = 64; }, "offset in its home"},
      {"home not initial", [](Example &e) { e.at(e.xHome).initial = false; }, "is not marked 'initial'"},
      {"written home initial", [](Example &e) { e.at(e.yHome).initial = true; },
       "is marked 'initial' but an operator writes it"},
      {"two homes", [](Example &e) { e.home(e.x, true); }, "two homes"},
      {"initial input in an arena", [](Example &e) { e.at(e.xIn).initial = true; }, "neither a parameter nor a state"},
      {"initial new state", [](Example &e) { e.at(e.nextAcc).initial = true; }, "neither a parameter nor a state"},
      {"misaligned", [](Example &e) { e.at(e.tAcc).offset = 100; }, "not a multiple of 64"},
      {"negative offset", [](Example &e) { e.at(e.tAcc).offset = -64; }, "not a multiple of 64"},
      {"outside the arena", [](Example &e) { e.at(e.tAcc).offset = 256; }, ", outside its arena of "},
      {"offset overflows", [](Example &e) { e.at(e.tAcc).offset = std::numeric_limits<int64_t>::max() - 63; },
       ", outside its arena of "},
      // Commands.
      {"stream does not exist", [](Example &e) { e.command(e.runA).stream = StreamId(3); },
       "is on stream 3, which does not exist"},
      {"residency does not exist", [](Example &e) { e.command(e.runA).reads[0] = ResidencyId(99); },
       ", which does not exist, because the plan has "},
      {"waits for itself", [](Example &e) { e.command(e.runA).waits = {e.runA}; },
       "which must be issued before command"},
      {"waits for a later one", [](Example &e) { e.command(e.runA).waits = {e.outY}; },
       "which must be issued before command"},
      {"operator does not exist", [](Example &e) { e.command(e.runA).op = OperatorId(); }, "operator that does not"},
      {"launched twice", [](Example &e) { e.command(e.runD).op = e.c; }, "is launched twice"},
      {"never launched", [](Example &e) { e.plan.commands.resize(e.runD.index()); }, "'d' is never launched"},
      {"launch on a copy stream", [](Example &e) { e.command(e.runA).stream = e.in; }, "on a stream for copies"},
      {"computing where ranks exchange",
       [](Example &e) {
         e.plan.streams.push_back({DeviceId(1), StreamKind::Communicate});
         e.command(e.runA).stream = StreamId(3);
       },
       "on a stream for communication"},
      {"a copy where ranks exchange",
       [](Example &e) {
         e.plan.streams.push_back({DeviceId(1), StreamKind::Communicate});
         e.command(e.outY).stream = StreamId(3);
       },
       "on a stream for communication"},
      {"exchanges in two orders",
       [](Example &e) {
         e.plan.streams.push_back({DeviceId(1), StreamKind::Communicate});
         e.graph.mutableOp(e.a).communicates = e.graph.mutableOp(e.b).communicates = true;
         e.command(e.runA).stream = StreamId(3);
       },
       "(launch of 'b') communicates on another stream than the previous"},
      {"launch elsewhere",
       [](Example &e) {
         e.plan.streams.push_back({DeviceId(0), StreamKind::Compute});
         e.command(e.runA).stream = StreamId(3);
       },
       "runs on a device other than that of its operator"},
      {"operand missing", [](Example &e) { e.command(e.runA).reads.pop_back(); }, "1 reads and 1 writes"},
      {"workspace missing", [](Example &e) { e.command(e.runC).writes.pop_back(); }, "1 workspaces"},
      {"workspace not asked for", [](Example &e) { e.graph.mutableOp(e.c).workspaceBytes = 0; }, "0 workspaces"},
      {"operands swapped", [](Example &e) { std::swap(e.command(e.runA).reads[0], e.command(e.runA).reads[1]); },
       "where input 0 is 'x'"},
      {"wrong result", [](Example &e) { e.command(e.runA).writes[0] = e.uAcc; }, "where output 0 is 't'"},
      {"tensor as workspace", [](Example &e) { e.command(e.runC).writes[1] = e.yAcc; }, "tensor as its workspace"},
      {"workspace too small", [](Example &e) { e.at(e.workspace).bytes = 32; }, "workspace of 32 bytes"},
      {"operand in another memory", [](Example &e) { e.command(e.runA).reads[0] = e.xHome; },
       "not in the device's memory 'gpu0'"},
      {"copy of two", [](Example &e) { e.command(e.outT).reads.push_back(e.tAcc); }, "exactly one source"},
      {"copy of another tensor", [](Example &e) { e.command(e.outT).reads[0] = e.xIn; }, "which is another tensor"},
      {"copy over no link", [](Example &e) { e.command(e.outT).link = LinkId(5); }, "link that does not exist"},
      {"copy within a memory", [](Example &e) { e.at(e.tHost).memory = MemoryId(1); }, "does not join"},
      {"copy on the host's stream",
       [](Example &e) {
         e.plan.streams.push_back({DeviceId(0), StreamKind::SwapOut});
         e.command(e.outY).stream = StreamId(3);
       },
       "must be on the swap-in stream of an accelerator whose memory it writes"},
      {"copy out on the stream for copies in", [](Example &e) { e.command(e.outT).stream = e.in; },
       "must be on the swap-in stream of an accelerator whose memory it writes"},
      {"copy on the stream for computing", [](Example &e) { e.command(e.outT).stream = StreamId(0); },
       "is on a stream for computing"},
      {"writes what is initial", [](Example &e) { e.command(e.inW).writes[0] = e.wKept; }, "which is marked 'initial'"},
      {"written twice", [](Example &e) { e.copy(e.in, e.tHost, e.tAgain, {}); }, "which command 6 wrote"},
      // Data flow.
      {"read of what nothing writes", [](Example &e) { e.command(e.runD).reads[0] = e.residency(e.t, 1, 128); },
       "which no command writes"},
      {"read without waiting", [](Example &e) { e.command(e.runA).waits.clear(); },
       "reads 'x' (residency 4 in 'gpu0') without waiting"},
      {"read before the write",
       [](Example &e) {
         e.command(e.copyX).reads[0] = e.xHome;
         std::swap(e.plan.commands[0], e.plan.commands[1]);
         e.plan.commands[0].waits.clear();
       },
       "without waiting"},
      // Addresses.
      {"overlap with a reader", [](Example &e) { e.command(e.runB).waits.clear(); },
       "is not ordered before command 3 (launch of 'b')"},
      {"stale: overwritten before its last read", [](Example &e) { e.at(e.tAgain).offset = 64; },
       "'t' (residency 11 in 'gpu0') overlaps"},
      {"in place without leave", [](Example &e) { e.graph.mutableOp(e.b).inPlace.clear(); }, "is not ordered before"},
      {"in place at another offset",
       [](Example &e) {
         e.at(e.tAcc).bytes = 128;
         e.at(e.uAcc).offset = 256;
         e.plan.arenaBytes[1] = 320;
       },
       "is not ordered before"},
      {"in place, yet read later", [](Example &e) { e.command(e.runD).reads[0] = e.tAcc; }, "is not ordered before"},
      {"workspace over an operand", [](Example &e) { e.at(e.workspace).offset = 192; }, "workspace"},
      {"two results in one place", [](Example &e) { e.at(e.workspace).offset = 64; }, "overlaps"},
      {"refilled too early", [](Example &e) { e.command(e.inW).waits.clear(); },
       "overlaps workspace (residency 8 in 'gpu0')"},
      {"two initial in one place", [](Example &e) { e.at(e.sKept).offset = 0; }, "both are marked 'initial'"},
      // The step's end.
      {"output left on the device", [](Example &e) { e.plan.commands.pop_back(); }, "output 'y' is not in host memory"},
      {"parameter not put back",
       [](Example &e) {
         e.at(e.wAgain).offset = 128;
         e.at(e.tAgain).offset = 256;
         e.plan.arenaBytes[1] = 320;
       },
       "does not hold 'w' when the step ends"},
      {"parameter partly overwritten", [](Example &e) { e.at(e.yAcc).offset = 0; }, "does not hold 'w'"},
      {"state not put back",
       [](Example &e) {
         e.at(e.nextAcc).offset = 256;
         e.plan.arenaBytes[1] = 320;
       },
       "does not hold 's'' when the step ends"},
      {"parameter put back and its first bytes overwritten",
       [](Example &e) {
         e.plan.arenaBytes[1] = 384;
         e.at(e.wKept).offset = 320;
         e.at(e.wAgain).offset = e.at(e.yAcc).offset = 256;
         e.at(e.wAgain).bytes = 128;
       },
       "does not hold 'w' when the step ends"},
      {"state fetched while its new value goes home",
       [](Example &e) {
         ResidencyId home = e.home(e.s, true), nextHome = e.home(e.next, false);
         e.plan.arenaBytes[1] = 320;
         e.copy(e.in, home, e.residency(e.s, 1, 256), {});
         e.copy(e.out, e.nextAcc, nextHome, {e.runC});
       },
       "is not ordered before command 10 (copy of 's''"},
      {"state's home not updated", [](Example &e) { e.home(e.s, true); }, "is not in its home when the step ends"},
      // Their own inputs.
      {"invalid graph", [](Example &e) { e.graph.mutableTensor(e.t).bytes = -1; }, "size of -1 bytes"},
      {"invalid machine", [](Example &e) { e.machine.links.clear(); }, "with the memory of the host"},
  };
  return list;
}

TEST_CASE("every broken rule is named", "[plan]") {
  for (const Mutation &mutation : mutations()) {
    CAPTURE(mutation.name);
    Example e;
    mutation.apply(e);
    Status status = validatePlan(e.graph, e.machine, e.plan);
    CHECK_FALSE(status);
    if (!status)
      CHECK_THAT(status.error().message, Contains(mutation.reason));
  }
}

TEST_CASE("harmless variations stay valid", "[plan]") {
  Example e;
  SECTION("a state's new value goes home too") {
    e.home(e.s, true);
    ResidencyId home = e.home(e.next, false);
    e.copy(e.out, e.nextAcc, home, {e.runC});
  }
  SECTION("a state that is nowhere initial goes home") {
    // The state comes from home into a place of its own.
    ResidencyId home = e.home(e.s, true);
    e.at(e.sKept).initial = false;
    ResidencyId nextHome = e.home(e.next, false);
    Command load{CommandKind::Copy, e.in, {}, e.link, {home}, {e.sKept}, {}};
    // Loaded first: every later id moves by one.
    for (Command &command : e.plan.commands)
      for (CommandId &wait : command.waits)
        ++wait.value;
    e.plan.commands.insert(e.plan.commands.begin(), load);
    e.copy(e.out, e.nextAcc, nextHome, {CommandId(e.runC.index() + 1)});
  }
  SECTION("a state's new value goes home after a swap-in of the old one") {
    ResidencyId home = e.home(e.s, true), nextHome = e.home(e.next, false);
    e.plan.arenaBytes[1] = 320;
    CommandId fetched = e.copy(e.in, home, e.residency(e.s, 1, 256), {});
    e.copy(e.out, e.nextAcc, nextHome, {e.runC, fetched});
  }
  SECTION("a wait within a stream") { e.command(e.runD).waits.push_back(e.runC); }
  SECTION("residencies of no bytes overlap nothing") {
    e.graph.mutableTensor(e.t).bytes = 0;
    for (ResidencyId id : {e.tAcc, e.tHost, e.tAgain})
      e.at(id).bytes = 0;
    e.at(e.tAgain).offset = 64;
  }
  SECTION("a residency nothing uses") { e.residency(e.t, 1, 0); }
  Status status = validatePlan(e.graph, e.machine, e.plan);
  INFO((status ? "" : status.error().message));
  CHECK(status);
}

TEST_CASE("random damage is refused or harmless, never a crash", "[plan]") {
  Rng rng(5);
  int refused = 0;
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) {
    Example e;
    auto wild = [&]() -> uint32_t {
      return rng.chance(0.8) ? static_cast<uint32_t>(rng.below(16)) : static_cast<uint32_t>(rng.next());
    };
    for (uint64_t hits = 1 + rng.below(3); hits > 0; --hits) {
      Residency &r = e.plan.residencies[rng.below(e.plan.residencies.size())];
      Command &c = e.plan.commands[rng.below(e.plan.commands.size())];
      switch (rng.below(12)) {
      case 0:
        r.tensor = TensorId(wild());
        break;
      case 1:
        r.memory = MemoryId(wild());
        break;
      case 2:
        r.offset = static_cast<int64_t>(rng.next()) & ~int64_t(63);
        break;
      case 3:
        r.bytes = static_cast<int64_t>(rng.next());
        break;
      case 4:
        r.initial = !r.initial;
        break;
      case 5:
        c.kind = c.kind == CommandKind::Launch ? CommandKind::Copy : CommandKind::Launch;
        break;
      case 6:
        c.stream = StreamId(wild());
        break;
      case 7:
        c.op = OperatorId(wild());
        break;
      case 8:
        c.link = LinkId(wild());
        break;
      case 9:
        c.reads.resize(rng.below(4), ResidencyId(wild()));
        break;
      case 10:
        c.writes.resize(rng.below(4), ResidencyId(wild()));
        break;
      case 11:
        c.waits.assign(rng.below(3), CommandId(wild()));
        break;
      }
    }
    Status status = validatePlan(e.graph, e.machine, e.plan);
    if (status)
      continue;
    ++refused;
    REQUIRE_THAT(status.error().message, Contains("invalid plan"));
  }
  CHECK(refused > kRounds / 2);
}

/// A chain whose activations share two places in turn, on a host alone.
static void chain(int length, Graph &graph, Machine &machine, Plan &plan) {
  machine = *machinePreset("host");
  auto tensor = [&](TensorKind kind) {
    Tensor t;
    t.kind = kind;
    t.bytes = 64;
    return graph.addTensor(t);
  };
  TensorId last = tensor(TensorKind::Input);
  plan.residencies.push_back({last, MemoryId(0u), Segment::Home, 0, 64, true});
  plan.streams = {{DeviceId(0), StreamKind::Compute}};
  plan.arenaBytes = {128};
  plan.placement.assign(static_cast<size_t>(length), DeviceId(0));
  for (int i = 0; i < length; ++i) {
    TensorId next = tensor(TensorKind::Activation);
    Operator op;
    op.name = std::to_string(i);
    op.inputs = {last};
    op.outputs = {next};
    OperatorId id = graph.addOperator(op);
    plan.residencies.push_back({next, MemoryId(0u), Segment::Arena, i % 2 * 64, 64, false});
    plan.commands.push_back({CommandKind::Launch, StreamId(0u), id, {}, {ResidencyId(i)}, {ResidencyId(i + 1)}, {}});
    last = next;
  }
}

TEST_CASE("100000 commands in one place are checked quickly", "[plan]") {
  Graph graph;
  Machine machine;
  Plan plan;
  chain(100000, graph, machine, plan);
  auto start = std::chrono::steady_clock::now();
  REQUIRE(validatePlan(graph, machine, plan));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(took.count() < 5.0); // Quadratic work would take minutes.
  plan.residencies[50001].offset = plan.residencies[50000].offset;
  CHECK_FALSE(validatePlan(graph, machine, plan));
}

namespace {
/// The example, with `t` swapped to a file, where the state has its home.
struct FileExample : Example {
  StreamId fileIn{3U}, fileOut{4U};
  LinkId fileLink;
  ResidencyId sHome, nextHome;
  CommandId inS, outNext;

  FileExample() {
    machine.memories.push_back({"ssd", 1 << 20, MemoryKind::File});
    fileLink = LinkId(machine.links.size());
    machine.links.push_back({MemoryId(1U), MemoryId(2U), 1e9, 2e9});
    plan.arenaBytes.push_back(64);
    plan.streams.push_back({DeviceId(1), StreamKind::FileIn});
    plan.streams.push_back({DeviceId(1), StreamKind::FileOut});
    at(tHost).memory = MemoryId(2U);
    command(outT).stream = fileOut;
    command(inT).stream = fileIn;
    command(outT).link = command(inT).link = fileLink;
    nextHome = home(next, false);
    sHome = home(s, true);
    at(nextHome).memory = at(sHome).memory = MemoryId(2U);
    link = fileLink;
    outNext = copy(fileOut, nextAcc, nextHome, {runC});
  }
};

struct FileMutation {
  const char *name;
  std::function<void(FileExample &)> apply;
  const char *reason; ///< Null: the plan stays valid.
};
} // namespace

TEST_CASE("each rule of files is checked", "[plan]") {
  static const std::vector<FileMutation> list = {
      {"as it is", [](FileExample &) {}, nullptr},
      {"a copy to a file on the stream for copies from files",
       [](FileExample &e) { e.command(e.outT).stream = e.fileIn; },
       "copies to a file, on a stream that copies from files"},
      {"a file's copy on a stream for others", [](FileExample &e) { e.command(e.outT).stream = e.out; },
       "copies from or to a file, on a stream that is not for files"},
      {"another copy on a file's stream", [](FileExample &e) { e.command(e.inW).stream = e.fileIn; },
       "is on a stream for files, and copies between two memories that are not files"},
      {"a launch on a file's stream", [](FileExample &e) { e.command(e.runA).stream = e.fileIn; },
       "is on a stream for copies"},
      {"an input's home", [](FileExample &e) { e.at(e.xHome).memory = MemoryId(2U); }, "home outside host memory"},
      {"an output's home", [](FileExample &e) { e.at(e.yHome).memory = MemoryId(2U); }, "home outside host memory"},
      {"a state's two homes", [](FileExample &e) { e.at(e.nextHome).memory = MemoryId(0U); },
       "has its home in a memory other than that of its state"},
      // Arena of 64, and homes of x, w and y.
      {"the host's homes fit", [](FileExample &e) { e.machine.memories[0].capacityBytes = 256; }, nullptr},
      {"rows that are looked up are less than their table",
       [](FileExample &e) {
         e.machine.memories[0].capacityBytes = 208;
         e.graph.mutableTensor(e.w).touchedBytes = 16;
       },
       nullptr},
      {"the host's homes do not", [](FileExample &e) { e.machine.memories[0].capacityBytes = 255; },
       "arena and homes in memory 'host' have 256 bytes, and the capacity is 255"},
      {"the file's arena", [](FileExample &e) { e.machine.memories[2].capacityBytes = 32; },
       "64 bytes, and the capacity is 32"},
  };
  for (const FileMutation &mutation : list) {
    FileExample e;
    mutation.apply(e);
    INFO(mutation.name);
    Status status = validatePlan(e.graph, e.machine, e.plan);
    INFO((status ? "" : status.error().message));
    CHECK(status.has_value() == (mutation.reason == nullptr));
    if (mutation.reason && !status)
      CHECK_THAT(status.error().message, Contains(mutation.reason));
  }
}

TEST_CASE("a plan counts what files read and write", "[plan]") {
  const FileExample e;
  CHECK(e.plan.bytesRead(e.graph, e.machine) == 64);
  CHECK(e.plan.bytesWritten(e.graph, e.machine) == 2 * 64);
  CHECK(e.plan.bytesUsed(e.graph, e.machine) == std::vector<int64_t>{256, 256, 64});
}

TEST_CASE("streams for files need a file", "[plan]") {
  Example e;
  e.plan.streams.push_back({DeviceId(1), StreamKind::FileOut});
  Status status = validatePlan(e.graph, e.machine, e.plan);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains("has a stream for files, and the machine has no file"));
}
