//===- BoundCertificateTest.cpp -------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/BoundCertificate.h"

#include "BruteForce.h"
#include "TinyInstance.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The same operators on the host, whose memory has a file behind it: 4 nanoseconds a byte to it, 2 back.
void moveToHost(Instance &instance) {
  instance.machine.devices[0].computes = true;
  addFile(instance.machine);
  Link &link = instance.machine.links.back();
  link.a = MemoryId(0u);
  link.latencyNs = 0;
  link.trunk = {};
  instance.placement.assign(instance.placement.size(), DeviceId(0u));
}

} // namespace

TEST_CASE("no step of tiny instances beats the bounds", "[search]") {
  int compared = 0, swapped = 0, met = 0;
  for (uint64_t seed = 0; seed < 44; ++seed) {
    const bool isOnHost = seed % 4 == 3;
    Instance instance = tinyInstance(seed);
    if (isOnHost)
      moveToHost(instance);
    const std::vector<int64_t> times = timesOn(instance, isOnHost ? 0 : 1);
    for (int64_t spare : {int64_t(seed % 3 == 0 ? 192 : 0), int64_t(64)}) {
      int64_t capacity = largestWorkingSet(instance.graph) + spare;
      if (isOnHost) // Homes of inputs and outputs count.
        for (const Tensor &tensor : instance.graph.tensors())
          capacity += tensor.kind == TensorKind::Input || tensor.isOutput ? tensor.bytes : 0;
      std::vector<int64_t> capacities(instance.machine.memories.size(), std::numeric_limits<int64_t>::max());
      capacities[isOnHost ? 0 : 1] = capacity;
      if (isOnHost)
        capacities[1] = 0;
      const LowerBounds bounds =
          planLowerBounds(instance.graph, instance.machine, instance.costs, capacities, instance.placement);
      BruteForce force(instance.graph, times, capacity, isOnHost ? 2 : 1, isOnHost ? 4 : 1, isOnHost);
      const std::optional<int64_t> once = force.solve(1), twice = once ? force.solve(2) : std::nullopt;
      INFO("seed " << seed << " spare " << spare);
      if (once) {
        ++compared;
        CHECK(bounds.once().ns <= *once);
        met += bounds.once().ns + 1 >= *once;
        swapped += bounds.onceCuts.ns > std::max(bounds.work.ns, bounds.path.ns);
      }
      if (twice)
        CHECK(bounds.always().ns <= *twice);
      CHECK(bounds.always().ns <= bounds.once().ns);
      CHECK(bounds.repeatCuts.ns <= bounds.onceCuts.ns + bounds.onceCuts.ns / 10 + 1);
    }
  }
  // The bounds are compared often, differ from those of work and chains often, and are met now and then.
  UNSCOPED_INFO(compared << " compared, " << swapped << " by bytes, " << met << " met");
  CHECK(compared > 50);
  CHECK(swapped > 5);
  CHECK(met > 5);
}

namespace {

/// A nanosecond a byte, but for what rates count more.
constexpr int64_t kByte = 999'998'999;

BoundCertificate cutAtB4() {
  BoundCertificate certificate;
  certificate.argument = BoundArgument::Cuts;
  certificate.repeats = false;
  certificate.operators = {OperatorId(4u)};
  certificate.memories = {MemoryId(1u)};
  certificate.memoryPrices = {2 * kByte};
  certificate.segments = {{0, kByte, {}}, {kByte, 0, {}}};
  return certificate;
}

} // namespace

TEST_CASE("the certificate that the documentation works by hand", "[search]") {
  const Instance instance = forwardAndBack();
  const std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), 1408};
  const BoundProblem problem{instance.graph, instance.machine, instance.costs, capacities, instance.placement};
  BoundCertificate certificate = cutAtB4();
  REQUIRE(provenNs(problem, certificate) == 2431); // 2432 less the rounding.
  const Json json = certificateToJson(instance.graph, instance.machine, certificate);
  Expected<BoundCertificate> read =
      certificateFromJson(instance.graph, instance.machine, JsonReader(json, "certificate"));
  REQUIRE(read);
  read->repeats = false;
  CHECK(certificateToJson(instance.graph, instance.machine, *read) == json);
  CHECK(provenNs(problem, *read) == 2431);
  CHECK(describeBound(instance.graph, instance.machine, certificate) ==
        "work and bytes across 1 cut of memory 'accel0'");

  // What may be made again costs nothing where the work has no price, and f1 to f3 once more where it has all.
  certificate.repeats = true;
  CHECK(provenNs(problem, certificate) == 0);
  certificate.segments[1] = {0, 0, {{DeviceId(1u), false, kWholeShare}}};
  certificate.memoryPrices = {100 * kWholeShare * 1000 / 640};
  CHECK(provenNs(problem, certificate) == 400 + (4 * 640 - 1344) * 100 / 640);
}

TEST_CASE("a certificate can count the latencies of copies", "[search]") {
  Instance instance = forwardAndBack();
  const std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), 1408};
  const BoundProblem problem{instance.graph, instance.machine, instance.costs, capacities, instance.placement};
  instance.machine.links[0].latencyNs = 60;
  BoundCertificate certificate = cutAtB4();
  certificate.segments = {{0, 0, {}, 0, kWholeShare}, {0, 0, {}, kWholeShare, 0}};
  // A tensor that leaves and comes back takes 2 x (60 + 640) ns, as much as one that stays.
  certificate.memoryPrices = {1400 * kByte / 640};
  CHECK(provenNs(problem, certificate) == 4 * 1400 - 1344 * 1400 / 640 - 1);
  const Json json = certificateToJson(instance.graph, instance.machine, certificate);
  Expected<BoundCertificate> read =
      certificateFromJson(instance.graph, instance.machine, JsonReader(json, "certificate"));
  REQUIRE(read);
  read->repeats = false;
  CHECK(provenNs(problem, *read) == provenNs(problem, certificate).value_or(-1));

  // With a second device in the memory, two copies may be under way.
  Machine both = instance.machine;
  both.devices.push_back(both.devices[1]);
  both.devices.back().name = "second";
  const BoundProblem wider{instance.graph, both, instance.costs, capacities, instance.placement};
  CHECK_FALSE(provenNs(wider, certificate));
  certificate.segments = {{0, 0, {}, 0, kWholeShare / 2}, {0, 0, {}, kWholeShare / 2, 0}};
  certificate.memoryPrices = {700 * kByte / 640};
  CHECK(provenNs(wider, certificate) == 2 * 1400 - 1344 * 700 / 640 - 1);
  certificate.segments[0].copiesIn = 1;
  CHECK_FALSE(provenNs(wider, certificate));
  certificate.segments[0].copiesIn = -1;
  CHECK_FALSE(provenNs(wider, certificate));
}

TEST_CASE("certificates that prove nothing are refused", "[search]") {
  const Instance instance = forwardAndBack();
  const std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), 1408};
  const BoundProblem problem{instance.graph, instance.machine, instance.costs, capacities, instance.placement};
  auto says = [&](const auto &change, const char *what) {
    BoundCertificate certificate = cutAtB4();
    change(certificate);
    Expected<int64_t> ns = provenNs(problem, certificate);
    INFO(what);
    REQUIRE_FALSE(ns);
    CHECK_THAT(ns.error().message, Catch::Contains(what));
  };
  using C = BoundCertificate;
  says([](C &c) { c.segments.pop_back(); }, "do not fit each other");
  says([](C &c) { c.memories = {}; }, "homes");
  says([](C &c) { c.memories = {MemoryId(0u)}; }, "homes");
  says([](C &c) { c.memories = {MemoryId(1u), MemoryId(1u)}; }, "is named twice");
  says([](C &c) { c.segments[0].out += 2; }, "exceed its time");
  says([](C &c) { c.segments[0].work = {{DeviceId(1u), false, 1}}; }, "exceed its time");
  says([](C &c) { c.segments[0].work = {{DeviceId(1u), false, -1}}; }, "share");
  says([](C &c) { c.segments[0].work = {{DeviceId(1u), false, 0}, {DeviceId(1u), false, 0}}; }, "two shares");
  says([](C &c) { c.segments[0].in = -1; }, "price");
  says([](C &c) { c.memoryPrices[0] = kMaxPrice + 1; }, "price");
  auto cutTwice = [](C &c, OperatorId first, OperatorId second) {
    c.operators = {first, second};
    c.memoryPrices.push_back(0);
    c.segments.push_back({});
  };
  says([&](C &c) { cutTwice(c, OperatorId(4u), OperatorId(4u)); }, "two cuts");
  says([&](C &c) { cutTwice(c, OperatorId(4u), OperatorId(3u)); }, "precede");
  BoundCertificate chain;
  CHECK_FALSE(provenNs(problem, chain));
  chain.operators = {OperatorId(0u), OperatorId(2u)};
  CHECK_FALSE(provenNs(problem, chain));
  chain.operators = {OperatorId(0u), OperatorId(1u)};
  CHECK(provenNs(problem, chain) == 74 + 200);
}

TEST_CASE("an open placement has a certificate that holds for all placements", "[search]") {
  int several = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Instance instance = randomInstance(seed, 10);
    instance.machine.devices[0].computes = seed % 2 == 0;
    SearchProblem problem = instance.problem(0.5);
    problem.placement.clear();
    SearchParams params;
    params.timeNs = 0;
    params.evaluations = 30;
    params.leastGain = 0;
    const Expected<SearchResult> result = solveSearch(problem, params);
    REQUIRE(result);
    REQUIRE(result->certificate);
    REQUIRE(result->onceCertificate);
    std::vector<DeviceId> pinned;
    BoundProblem bounded{instance.graph,        instance.machine,       instance.costs,
                         problem.capacityBytes, result->plan.placement, pinned};
    CHECK(provenNs(bounded, *result->certificate).value_or(0) >= result->lowerBoundNs);
    CHECK(result->lowerBoundNs <= result->makespanNs);
    BoundCertificate open;
    open.argument = BoundArgument::Placements;
    const int64_t openNs = provenNs(bounded, open).value_or(0);
    CHECK(openNs > 0);
    several += instance.machine.computeDevices().size() > 1;
    // A placement that is fixed can only be slower, and any other device of its operators no longer counts.
    pinned = result->plan.placement;
    bounded.pinned = pinned;
    const int64_t pinnedNs = provenNs(bounded, open).value_or(0);
    CHECK(pinnedNs >= openNs);
    CHECK(pinnedNs <= result->makespanNs);
    // As a plan file has it.
    const Json json = certificateToJson(instance.graph, instance.machine, open);
    CHECK(json == Json{{"argument", "placements"}});
    const Expected<BoundCertificate> again =
        certificateFromJson(instance.graph, instance.machine, JsonReader(json, "test"));
    REQUIRE(again);
    CHECK(again->argument == BoundArgument::Placements);
  }
  CHECK(several >= 6);
}

TEST_CASE("the placements' argument by hand", "[search]") {
  // Two operators of 100 ns on the accelerator, 1 ns on the host's processor, which does not compute at first.
  Instance instance = forwardAndBack();
  const std::vector<int64_t> capacities(2, std::numeric_limits<int64_t>::max());
  const BoundProblem problem{instance.graph, instance.machine, instance.costs, capacities, instance.placement};
  BoundCertificate open;
  open.argument = BoundArgument::Placements;
  // The input of 64 bytes comes, eight operators run one after the other, the output of 64 bytes goes.
  const int64_t link = transferTimeNs(instance.machine.links[0], 64);
  CHECK(provenNs(problem, open).value_or(0) == link + 800 + link);
  instance.machine.devices[0].computes = true;
  CHECK(provenNs(problem, open).value_or(0) == 8);
  instance.machine.devices[0].computes = instance.machine.devices[1].computes = false;
  CHECK_FALSE(provenNs(problem, open));
}

TEST_CASE("a home that takes few bytes pays for these alone", "[search]") {
  // The host's processor reads 10 of 1000 blocks of a table, whose home is in the host's memory beside a file.
  Instance instance;
  instance.machine = starMachine(0);
  instance.machine.devices[0].computes = true;
  instance.machine.memories.push_back({"disk"});
  instance.machine.memories[1].kind = MemoryKind::File;
  instance.machine.links.push_back({MemoryId(0u), MemoryId(1u), 1e9, 1e9, 0});
  Tensor x, table, y;
  x.name = "x", x.kind = TensorKind::Input, x.bytes = 64;
  table.name = "table", table.kind = TensorKind::Parameter, table.bytes = 64'000, table.touchedBytes = 640;
  y.name = "y", y.bytes = 64, y.isOutput = true;
  Operator op;
  op.name = "look up";
  op.inputs = {instance.graph.addTensor(x), instance.graph.addTensor(table)};
  op.outputs = {instance.graph.addTensor(y)};
  instance.graph.addOperator(op);
  instance.costs = {1, {100}};
  instance.placement = {DeviceId(0u)};
  const std::vector<int64_t> capacities{1000, std::numeric_limits<int64_t>::max()};
  // The plan without copies, which is valid, takes 100 ns.
  const LowerBounds bounds =
      planLowerBounds(instance.graph, instance.machine, instance.costs, capacities, instance.placement);
  CHECK(bounds.always().ns == 100);
  CHECK(bounds.once().ns == 100);
}
