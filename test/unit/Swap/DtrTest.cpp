//===- DtrTest.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Dtr.h"
#include "LinearNetwork.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

using namespace sluice;
using namespace sluice::test;

namespace {

/// The fewest runs of any plan, by breadth-first search over the sets of tensors in memory. An operator may run when
/// its operands are in memory, and any tensor may be dropped at any time. Inputs stay.
size_t fewestRuns(const Instance &instance, size_t slots) {
  const Graph &graph = instance.graph;
  const uint32_t inputs = [&] {
    uint32_t set = 0;
    for (uint32_t t = 0; t < graph.numTensors(); ++t)
      set |= graph.tensor(TensorId(t)).producer.valid() ? 0 : uint32_t(1) << t;
    return set;
  }();
  // A state is a set in memory and the number of operators of the backward pass that have run.
  using Node = std::pair<uint32_t, uint32_t>;
  const auto numOperators = static_cast<uint32_t>(graph.numOperators());
  std::map<Node, size_t> known{{{inputs, 0}, 0}};
  std::vector<Node> wave{{inputs, 0}};
  for (size_t runs = 0; !wave.empty(); ++runs) {
    std::vector<Node> next;
    for (const auto &[set, done] : wave) {
      if (done == numOperators / 2)
        return runs;
      for (uint32_t op = 0; op < numOperators; ++op) {
        // Each gradient is made once, in order.
        const bool isBackward = op >= numOperators / 2;
        if (isBackward && op != numOperators / 2 + done)
          continue;
        const Operator &o = graph.op(OperatorId(op));
        if (std::any_of(o.inputs.begin(), o.inputs.end(), [set = set](TensorId t) { return !(set >> t.value & 1); }))
          continue;
        const uint32_t made = set | uint32_t(1) << o.outputs[0].value;
        if (static_cast<size_t>(std::popcount(made)) > slots)
          continue;
        // Every subset of what is there may stay.
        for (uint32_t stay = made;; stay = (stay - 1) & made) {
          const Node node{stay | inputs, done + isBackward};
          if ((stay & inputs) == inputs && known.try_emplace(node, runs + 1).second)
            next.push_back(node);
          if (stay == 0)
            break;
        }
      }
    }
    wave = std::move(next);
  }
  return 0;
}

} // namespace

TEST_CASE("DTR on the linear network is close to the optimum", "[swap][dtr]") {
  for (size_t layers = 3; layers <= 5; ++layers)
    for (size_t slots = 4; slots <= layers + 3; ++slots) {
      Instance instance;
      fillLinear(instance, layers);
      const size_t fewest = fewestRuns(instance, slots);
      REQUIRE(fewest >= 2 * layers);
      Expected<std::vector<OperatorId>> runs = dtrRuns(instance.problem(), static_cast<int64_t>(64 * slots));
      INFO(layers << " layers in " << slots << " slots");
      REQUIRE(runs);
      CHECK(runs->size() >= fewest);
      CHECK(runs->size() <= fewest + 2);
    }
}

TEST_CASE("DTR runs a linear number of operators in a memory of twice the root", "[swap][dtr]") {
  // Theorem 3.1 of the paper: O(N) operators for N layers in a memory of 2 sqrt(N).
  for (const size_t layers : {64, 144, 256, 400}) {
    Instance instance;
    fillLinear(instance, layers);
    const auto slots = static_cast<int64_t>(2 * std::ceil(std::sqrt(static_cast<double>(layers)))) + 3;
    Expected<std::vector<OperatorId>> runs = dtrRuns(instance.problem(), 64 * slots);
    REQUIRE(runs);
    CHECK(runs->size() <= 4 * layers);
    CHECK(runs->size() > 2 * layers);
  }
}

TEST_CASE("DTR with enough memory runs everything once", "[swap][dtr]") {
  Rng rng(3);
  for (int round = 0; round < 20; ++round) {
    Instance instance;
    fillRandom(instance, rng, 5 + rng.below(40), 1);
    std::fill(instance.placement.begin(), instance.placement.end(), DeviceId(1u));
    Expected<std::vector<OperatorId>> runs = dtrRuns(instance.problem(), int64_t(1) << 40);
    REQUIRE(runs);
    CHECK(*runs == instance.order);
  }
}

TEST_CASE("plans of DTR are valid and copy no result out but outputs and states", "[swap][dtr]") {
  Rng rng(5);
  int planned = 0, repeated = 0;
  for (int round = 0; round < 120; ++round) {
    Instance instance;
    fillRandom(instance, rng, 10 + rng.below(60), 1);
    std::fill(instance.placement.begin(), instance.placement.end(), DeviceId(1u));
    const int64_t least = minimumBytes(instance.problem())[1].bytes, peak = livenessPeakBytes(instance.problem())[1];
    instance.capacity[1] = least + (peak - least) * static_cast<int64_t>(6 + rng.below(4)) / 10;
    Expected<Plan> plan = planDtr(instance.problem());
    if (!plan) {
      CHECK(plan.error().code == ErrorCode::Infeasible);
      CHECK(plan.error().message.find("raise --memory accel0") != std::string::npos);
      continue;
    }
    Status status = validateLimited(instance, *plan);
    INFO((status ? std::string() : status.error().message));
    REQUIRE(status);
    for (const Residency &r : plan->residencies)
      CHECK((r.memory != Machine::hostMemory() || r.segment == Segment::Home));
    ++planned;
    repeated += !plan->computedAgain().empty();
  }
  CHECK(planned > 30);
  CHECK(repeated > 10);
}

TEST_CASE("DTR refuses several memories", "[swap][dtr]") {
  Instance instance;
  fillLinear(instance, 3);
  instance.placement.front() = DeviceId(0u);
  Expected<Plan> plan = planDtr(instance.problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::Unsupported);
  CHECK(plan.error().message.find("operator 'f0' is on device 'cpu'") != std::string::npos);
}
