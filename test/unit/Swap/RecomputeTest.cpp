//===- RecomputeTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Recompute.h"
#include "Problems.h"
#include "sluice/Simulator/Simulator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

/// x -> f0 -> a0 -> f1 -> ... -> a(n-1) = the loss; then b(n-1) ... b0, of which
/// b(i) reads a(i-1), or x, and the gradient before it.
void fillTraining(Instance &instance, size_t layers, int64_t activationBytes) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> kept{addTensor(graph, "x", activationBytes, TensorKind::Input)};
  for (size_t i = 0; i < layers; ++i) {
    TensorId next = addTensor(graph, "a" + std::to_string(i), activationBytes);
    addOperator(graph, "f" + std::to_string(i), {kept.back()}, {next});
    kept.push_back(next);
  }
  TensorId gradient = kept.back();
  for (size_t i = layers; i-- > 0;) {
    TensorId next = addTensor(graph, "g" + std::to_string(i), activationBytes);
    graph.mutableTensor(next).isOutput = i == 0;
    addOperator(graph, "b" + std::to_string(i), {kept[i], gradient}, {next});
    gradient = next;
  }
  complete(instance);
}

SwapProblem problemOf(const RecomputedGraph &twice, const Instance &instance) {
  return {twice.graph(),
          instance.machine,
          twice.costs(),
          twice.placement(instance.placement),
          twice.order(instance.order),
          instance.capacity};
}

std::vector<uint32_t> values(const std::vector<OperatorId> &ids) {
  std::vector<uint32_t> list;
  for (OperatorId id : ids)
    list.push_back(id.value);
  return list;
}

/// What chooseRecomputation minimizes, from its definition: the moment is the
/// order's last early position, one stretch holds all.
struct Objective {
  const Instance &instance;
  const std::vector<bool> &late;
  double nsPerByte;

  bool isCandidate(TensorId id) const {
    const Tensor &tensor = instance.graph.tensor(id);
    return tensor.producer.valid() && !late[tensor.producer.index()] && onAccelerator(tensor.producer) &&
           tensor.kind == TensorKind::Activation;
  }
  bool onAccelerator(OperatorId op) const {
    return instance.machine.device(instance.placement[op.index()]).memory == MemoryId(1u);
  }
  std::vector<OperatorId> repeatable() const {
    std::vector<OperatorId> list;
    for (uint32_t i = 0; i < instance.graph.numOperators(); ++i)
      if (!late[i] && onAccelerator(OperatorId(i)) && instance.graph.isRepeatable(OperatorId(i)))
        list.push_back(OperatorId(i));
    return list;
  }
  /// 0: no late reader; 1: one soon; 2: one later.
  int lateUse(TensorId id) const {
    const Tensor &tensor = instance.graph.tensor(id);
    auto at = [&](OperatorId op) {
      return std::find(instance.order.begin(), instance.order.end(), op) - instance.order.begin();
    };
    ptrdiff_t before = at(tensor.producer), after = -1;
    for (OperatorId reader : tensor.consumers)
      if (!late[reader.index()])
        before = std::max(before, at(reader));
      else
        after = after < 0 ? at(reader) : std::min(after, at(reader));
    if (after < 0)
      return 0;
    int64_t ns = 0;
    for (ptrdiff_t p = before + 1; p < after; ++p)
      if (OperatorId op = instance.order[static_cast<size_t>(p)]; onAccelerator(op))
        ns += instance.costs.timeNs(op, instance.placement[op.index()]);
    int64_t all = 0;
    for (OperatorId op : instance.order)
      all += onAccelerator(op) ? instance.costs.timeNs(op, instance.placement[op.index()]) : 0;
    return ns >= std::min(all / 32, 2 * transferTimeNs(instance.machine.links[0], tensor.bytes)) ? 2 : 1;
  }
  double of(const std::vector<OperatorId> &again) const {
    double total = 0;
    std::vector<bool> atHand(instance.graph.numTensors(), false);
    for (uint32_t i = 0; i < atHand.size(); ++i)
      atHand[i] = isCandidate(TensorId(i)) && lateUse(TensorId(i)) == 2;
    for (OperatorId op : again) {
      total += static_cast<double>(instance.costs.timeNs(op, instance.placement[op.index()]));
      for (TensorId input : instance.graph.op(op).inputs)
        if (isCandidate(input) && lateUse(input) != 1)
          atHand[input.index()] = true;
    }
    for (uint32_t i = 0; i < atHand.size(); ++i) {
      const Tensor &tensor = instance.graph.tensor(TensorId(i));
      if (atHand[i] && std::find(again.begin(), again.end(), tensor.producer) == again.end())
        total += std::floor(nsPerByte * static_cast<double>(tensor.bytes));
    }
    return total;
  }
};

} // namespace

TEST_CASE("in one stretch a chain runs again from its input", "[swap][recompute]") {
  Instance instance;
  fillTraining(instance, 8, kMiB);
  const Recomputation chosen =
      chooseRecomputation(instance.problem(), MemoryId(1u), {int64_t(1) << 40, 1000.0 * kUnitNs / kMiB});
  // The last results are read at once by the backward operators that begin.
  CHECK(values(chosen.again) == std::vector<uint32_t>{0, 1, 2, 3, 4, 5});
  // Most is live at the first backward operator.
  CHECK(std::count(chosen.late.begin(), chosen.late.end(), true) == 7);
}

TEST_CASE("stretches keep what passes from one to the next", "[swap][recompute]") {
  Instance instance;
  fillTraining(instance, 12, kMiB);
  const Recomputation chosen =
      chooseRecomputation(instance.problem(), MemoryId(1u), {4 * kMiB, 1000.0 * kUnitNs / kMiB});
  CHECK(chosen.again.size() > 4);
  CHECK(chosen.again.size() < 10);
  // Runs of operators, one kept result after each.
  size_t runs = 1;
  for (size_t i = 1; i < chosen.again.size(); ++i)
    runs += chosen.again[i].value != chosen.again[i - 1].value + 1;
  CHECK(runs >= 2);
}

TEST_CASE("nothing runs again that costs more than it is worth", "[swap][recompute]") {
  Instance instance;
  fillTraining(instance, 8, kMiB);
  // Of the sum of an operator's time and a MiB's worth, the latter is less.
  CHECK(chooseRecomputation(instance.problem(), MemoryId(1u), {int64_t(1) << 40, 0.5 * kUnitNs / kMiB}).again.empty());
  CHECK(chooseRecomputation(instance.problem(), MemoryId(1u), {int64_t(1) << 40, 0.0}).again.empty());
}

TEST_CASE("no set of operators is a better choice", "[swap][recompute]") {
  size_t chosenSome = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Instance instance;
    fillRandom(instance, rng, 4 + rng.below(14), 1);
    const double worth = std::exp2(static_cast<double>(rng.below(9)) - 3) * kUnitNs / kMiB;
    const Recomputation chosen =
        chooseRecomputation(instance.problem(), MemoryId(1u), {std::numeric_limits<int64_t>::max(), worth});
    chosenSome += !chosen.again.empty();
    const Objective objective{instance, chosen.late, worth};
    const double ours = objective.of(chosen.again);
    const std::vector<OperatorId> all = objective.repeatable();
    REQUIRE(all.size() < 20);
    double best = ours;
    for (uint32_t set = 0; set < uint32_t(1) << all.size(); ++set) {
      std::vector<OperatorId> again;
      for (size_t i = 0; i < all.size(); ++i)
        if (set >> i & 1)
          again.push_back(all[i]);
      best = std::min(best, objective.of(again));
    }
    INFO("seed " << seed);
    CHECK(ours == best);
  }
  CHECK(chosenSome > 30);
}

TEST_CASE("plans with second runs are plans of the first graph", "[swap][recompute]") {
  size_t repeated = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    Instance instance;
    fillRandom(instance, rng, 10 + rng.below(50), 1 + static_cast<int>(rng.below(2)));
    const SwapProblem problem = instance.problem();
    // Any set will do, whatever it is worth.
    Recomputation choice;
    const uint64_t moment = rng.below(instance.order.size());
    choice.late.assign(instance.graph.numOperators(), true);
    for (uint64_t p = 0; p < moment; ++p)
      choice.late[instance.order[p].index()] = false;
    for (uint32_t i = 0; i < choice.late.size(); ++i)
      if (!choice.late[i] && instance.graph.isRepeatable(OperatorId(i)) && rng.chance(0.5))
        choice.again.push_back(OperatorId(i));

    const RecomputedGraph twice(instance.graph, instance.costs, choice);
    REQUIRE(twice.graph().check());
    REQUIRE(twice.graph().numOperators() == instance.graph.numOperators() + twice.again().size());
    for (OperatorId op : twice.again())
      CHECK(std::binary_search(choice.again.begin(), choice.again.end(), op));
    const SwapProblem expanded = problemOf(twice, instance);
    Status checked = check(expanded);
    INFO((checked ? "" : checked.error().message));
    REQUIRE(checked);
    SwapProblem tight = expanded;
    const std::vector<MinimumBytes> least = minimumBytes(expanded);
    const std::vector<int64_t> peaks = livenessPeakBytes(expanded);
    for (size_t m = 1; m < tight.capacityBytes.size(); ++m)
      tight.capacityBytes[m] = least[m].bytes + (peaks[m] - least[m].bytes) / 4;
    Expected<Plan> plan = planSwapOffsets(tight);
    REQUIRE(plan);
    const int64_t ns = simulate(twice.graph(), instance.machine, twice.costs(), *plan).makespanNs;
    const Plan first = twice.planOfFirst(*plan);
    Status status = validatePlan(instance.graph, instance.machine, first);
    INFO((status ? "" : status.error().message));
    REQUIRE(status);
    CHECK(makespanNs(instance, first) == ns);
    std::vector<OperatorId> again = first.computedAgain();
    std::sort(again.begin(), again.end());
    CHECK(again == twice.again());
    repeated += again.size();
  }
  CHECK(repeated > 400);
}

TEST_CASE("a chain that runs again needs less memory and no copies", "[swap][recompute]") {
  Instance instance;
  fillTraining(instance, 64, kMiB);
  const SwapProblem problem = instance.problem();
  const Recomputation chosen = chooseRecomputation(problem, MemoryId(1u), {8 * kMiB, 1000.0 * kUnitNs / kMiB});
  const RecomputedGraph twice(instance.graph, instance.costs, chosen);
  const SwapProblem expanded = problemOf(twice, instance);
  // Eight kept results and a stretch of eight, with what an operator holds; Chen et al.'s square root of the depth.
  CHECK(livenessPeakBytes(problem)[1] >= 64 * kMiB);
  CHECK(livenessPeakBytes(expanded)[1] <= 24 * kMiB);
}
