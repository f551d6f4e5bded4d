//===- PofoTest.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Pofo.h"
#include "LinearNetwork.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Every byte of memory and every state counts.
constexpr PofoParams kExact{1000, 0};

/// A stage of which the output is all that is saved.
PofoStage plainStage(int64_t ns, int64_t bytes) {
  PofoStage stage;
  stage.forwardNs = stage.backwardNs = ns;
  stage.outputBytes = stage.savedBytes = stage.keepPeakBytes = stage.dropPeakBytes = stage.backwardPeakBytes = bytes;
  return stage;
}

PofoStage randomStage(Rng &rng, bool isLast) {
  PofoStage stage;
  stage.forwardNs = 1 + static_cast<int64_t>(rng.below(6));
  stage.backwardNs = 1 + static_cast<int64_t>(rng.below(6));
  stage.outputBytes = isLast ? 0 : 1 + static_cast<int64_t>(rng.below(3));
  stage.savedBytes = stage.outputBytes + static_cast<int64_t>(rng.below(4));
  stage.gradientBytes = isLast ? 0 : static_cast<int64_t>(rng.below(2));
  stage.keepPeakBytes = stage.savedBytes + static_cast<int64_t>(rng.below(2));
  stage.dropPeakBytes = stage.outputBytes + static_cast<int64_t>(rng.below(2));
  stage.backwardPeakBytes = stage.savedBytes + stage.gradientBytes + static_cast<int64_t>(rng.below(2));
  stage.isRepeatable = !rng.chance(0.1);
  return stage;
}

/// A schedule of a range of stages without the link: what it needs beside the input, and its time.
struct Schedule {
  int64_t bytes;
  double ns;
};

/// Every schedule of stages [first, last] that saves some inputs and drops the rest, one by one.
std::vector<Schedule> allSchedules(const std::vector<PofoStage> &stages, size_t first, size_t last) {
  const PofoStage &stage = stages[first];
  const int64_t gradient = stages[last].gradientBytes;
  const int64_t own = std::max(stage.keepPeakBytes + gradient, stage.backwardPeakBytes);
  const auto ownNs = static_cast<double>(stage.forwardNs + stage.backwardNs);
  if (first == last)
    return {{own, ownNs}};
  std::vector<Schedule> all;
  for (const Schedule &rest : allSchedules(stages, first + 1, last))
    all.push_back({std::max(own, stage.savedBytes + rest.bytes), ownNs + rest.ns});
  for (size_t split = first + 1; split <= last; ++split) {
    int64_t peak = 0;
    double ns = 0;
    bool isRepeatable = true;
    for (size_t k = first; k < split; ++k) {
      peak = std::max(peak, (k == first ? 0 : stages[k - 1].outputBytes) + stages[k].dropPeakBytes + gradient);
      ns += static_cast<double>(stages[k].forwardNs);
      isRepeatable &= stages[k].isRepeatable;
    }
    if (!isRepeatable)
      continue;
    for (const Schedule &late : allSchedules(stages, split, last))
      for (const Schedule &early : allSchedules(stages, first, split - 1))
        all.push_back(
            {std::max({peak, stages[split - 1].outputBytes + late.bytes, early.bytes}), ns + late.ns + early.ns});
  }
  return all;
}

/// The least time of every division into blocks, by plain recursion over all choices.
class BruteForce {
public:
  explicit BruteForce(const PofoChain &chain) : chain(chain) {
    const size_t n = chain.stages.size();
    for (size_t first = 0; first < n; ++first)
      for (size_t last = first; last < n; ++last)
        schedules[{first, last}] = allSchedules(chain.stages, first, last);
    visit(0, 0, 0, 0, 0, 0);
  }
  double best = kNever;

private:
  /// Waits until `needed` bytes fit beside `moving` ones; returns the bytes that moved meanwhile, or a negative number.
  static double wait(double moving, double needed, double room) {
    const double late = std::max(0.0, moving + needed - room);
    return late <= moving ? late : -1;
  }

  void visit(size_t first, int64_t input, double kept, double out, double in, double ns) {
    const std::vector<PofoStage> &stages = chain.stages;
    const double room = static_cast<double>(chain.memoryBytes) - kept - static_cast<double>(input);
    if (room < 0 || ns >= best)
      return;
    for (const Schedule &end : schedules[{first, stages.size() - 1}]) {
      const double lateOut = wait(out, static_cast<double>(end.bytes), room);
      const double lateIn = wait(in, static_cast<double>(end.bytes), room);
      if (lateOut < 0 || lateIn < 0)
        continue;
      const double move = (out - lateOut) / chain.outBytesPerNs + (in - lateIn) / chain.inBytesPerNs;
      best = std::min(best, ns + lateOut / chain.outBytesPerNs + lateIn / chain.inBytesPerNs + std::max(end.ns, move));
    }
    for (size_t last = first; last + 1 < stages.size(); ++last)
      for (const bool keeps : {true, false}) {
        if (keeps && last > first)
          continue;
        // The forward pass, operator by operator.
        double sent = 0, forwardNs = 0;
        bool fits = true;
        for (size_t k = first; k <= last; ++k) {
          fits &= keeps || stages[k].isRepeatable;
          const int64_t needed =
              keeps ? stages[k].keepPeakBytes : stages[k].dropPeakBytes + (k == first ? 0 : stages[k - 1].outputBytes);
          const double late = wait(std::max(0.0, out - sent), static_cast<double>(needed), room);
          fits &= late >= 0;
          const auto runNs = static_cast<double>(stages[k].forwardNs);
          forwardNs += runNs + late / chain.outBytesPerNs;
          sent += late + runNs * chain.outBytesPerNs;
        }
        if (!fits)
          continue;
        const PofoStage &stage = stages[first];
        const std::vector<Schedule> own = {{stage.backwardPeakBytes, static_cast<double>(stage.backwardNs)}};
        for (const Schedule &backward : keeps ? own : schedules[{first, last}]) {
          const double late = wait(in, static_cast<double>(backward.bytes), room);
          if (late < 0)
            continue;
          const double total = ns + forwardNs + backward.ns + late / chain.inBytesPerNs;
          const double back = std::max(0.0, in - late - backward.ns * chain.inBytesPerNs);
          const int64_t next = keeps ? stage.savedBytes : stages[last].outputBytes;
          visit(last + 1, next, kept + static_cast<double>(input), std::max(0.0, out - sent), back, total);
          if (input > 0)
            visit(last + 1, next, kept, std::max(0.0, out + static_cast<double>(input) - sent),
                  back + static_cast<double>(input), total);
        }
      }
  }

  const PofoChain &chain;
  std::map<std::pair<size_t, size_t>, std::vector<Schedule>> schedules;
};

/// Whether the runs compute every gradient from data that is there.
void checkRuns(const PofoChain &chain, const std::vector<PofoRun> &runs) {
  const size_t n = chain.stages.size();
  std::vector<size_t> forward(n, 0);
  size_t left = n;
  for (const PofoRun &run : runs) {
    if (run.isBackward) {
      REQUIRE(run.stage + 1 == left);
      REQUIRE(forward[run.stage] > 0);
      --left;
      continue;
    }
    REQUIRE((run.stage == 0 || forward[run.stage - 1] > 0));
    REQUIRE(run.stage < left);
    ++forward[run.stage];
    REQUIRE((forward[run.stage] == 1 || chain.stages[run.stage].isRepeatable));
  }
  REQUIRE(left == 0);
}

/// The time of the runs alone.
double runsNs(const PofoChain &chain, const PofoSchedule &schedule) {
  int64_t ns = 0;
  for (const PofoRun &run : schedule.runs)
    ns += run.isBackward ? chain.stages[run.stage].backwardNs : chain.stages[run.stage].forwardNs;
  return static_cast<double>(ns);
}

} // namespace

TEST_CASE("POFO on three stages by hand", "[swap][pofo]") {
  PofoChain chain{{plainStage(10, 10), plainStage(10, 10), plainStage(10, 10)}, 0, 0, 0};
  chain.stages.back().outputBytes = 0;
  auto timeWith = [&](int64_t memory, double rate) {
    chain.memoryBytes = memory;
    chain.outBytesPerNs = chain.inBytesPerNs = rate;
    Expected<PofoSchedule> schedule = solvePofo(chain, kExact);
    return schedule ? schedule->timeNs : kNever;
  };
  // Three results of 10 bytes fit: six runs of 10 ns.
  CHECK(timeWith(30, 0) == 60);
  // In 20 bytes the last stage fills the memory. Without a link, the first one runs again after the second has dropped
  // its result: forward 0 1 2, backward 2, forward 0 1, backward 1 0.
  CHECK(timeWith(20, 0) == 80);
  // The first result leaves beside the second stage, and comes back after the last one: 10 ns at one byte a ns.
  CHECK(timeWith(20, 1) == 70);
  CHECK(timeWith(20, 4) == 62.5);
  // At half a byte a ns it also delays the last stage by 10 ns, and returns in 20: running again is faster.
  CHECK(timeWith(20, 0.5) == 80);
  // The last stage reads 10 bytes and writes as many.
  CHECK(timeWith(19, 4) == kNever);
}

TEST_CASE("POFO offloads a result and shows it in the blocks", "[swap][pofo]") {
  PofoChain chain{{plainStage(10, 10), plainStage(10, 10), plainStage(10, 10)}, 20, 1, 1};
  chain.stages.back().outputBytes = 0;
  Expected<PofoSchedule> schedule = solvePofo(chain, kExact);
  REQUIRE(schedule);
  CHECK(std::count_if(schedule->blocks.begin(), schedule->blocks.end(),
                      [](const PofoBlock &block) { return block.isOffloaded; }) == 1);
  CHECK(schedule->runs.size() == 6);
}

TEST_CASE("POFO without a link runs as often as Griewank and Walther prove", "[swap][pofo]") {
  // "Algorithm 799: Revolve" (2000): l steps with s checkpoints, the input among them, advance t(l, s) = r l -
  // beta(s + 1, r - 1) times, where beta(s, r) is (s + r) choose s and beta(s, r - 1) < l <= beta(s, r). A step's own
  // record is so large here that none is kept for later. The state from which a step starts takes room beside it.
  auto choose = [](int64_t n, int64_t k) {
    int64_t value = k < 0 ? 0 : 1;
    for (int64_t i = 1; i <= k; ++i)
      value = value * (n - k + i) / i;
    return value;
  };
  auto beta = [&](int64_t s, int64_t r) { return r < 0 ? 0 : choose(s + r, s); };
  CHECK(beta(3, 2) == 10);
  for (int64_t s = 1; s <= 4; ++s)
    for (int64_t l = 2; l <= 14; ++l) {
      int64_t r = 0;
      while (l > beta(s, r))
        ++r;
      const int64_t advances = r * l - beta(s + 1, r - 1);
      constexpr int64_t kRecord = 20;
      PofoStage stage = plainStage(1, 1);
      stage.backwardNs = 0;
      stage.savedBytes = stage.keepPeakBytes = stage.backwardPeakBytes = kRecord;
      PofoChain chain{std::vector<PofoStage>(static_cast<size_t>(l), stage), kRecord + s, 0, 0};
      INFO(l << " steps with " << s << " checkpoints");
      Expected<PofoSchedule> schedule = solvePofo(chain, kExact);
      REQUIRE(schedule);
      CHECK(schedule->timeNs == static_cast<double>(advances + l));
      CHECK(runsNs(chain, *schedule) == schedule->timeNs);
      checkRuns(chain, schedule->runs);
    }
}

TEST_CASE("POFO is optimal on small chains", "[swap][pofo]") {
  Rng rng(11);
  int feasible = 0, offloading = 0, repeating = 0, both = 0;
  for (int round = 0; round < 300; ++round) {
    PofoChain chain;
    const size_t n = 1 + rng.below(5);
    for (size_t i = 0; i < n; ++i)
      chain.stages.push_back(randomStage(rng, i + 1 == n));
    chain.memoryBytes = 3 + static_cast<int64_t>(rng.below(12));
    chain.outBytesPerNs = 0.125 * static_cast<double>(1 + rng.below(8));
    chain.inBytesPerNs = 0.125 * static_cast<double>(1 + rng.below(8));
    const double best = BruteForce(chain).best;
    Expected<PofoSchedule> schedule = solvePofo(chain, kExact);
    INFO("round " << round << " with " << n << " stages in " << chain.memoryBytes);
    REQUIRE(schedule.has_value() == (best < kNever));
    if (!schedule) {
      CHECK(schedule.error().code == ErrorCode::Infeasible);
      continue;
    }
    CHECK(schedule->timeNs == Approx(best));
    checkRuns(chain, schedule->runs);
    CHECK(runsNs(chain, *schedule) <= schedule->timeNs + 1e-9);
    // With a tolerance it is not better, and not infeasible.
    Expected<PofoSchedule> rough = solvePofo(chain, {1000, 0.1});
    REQUIRE(rough);
    CHECK(rough->timeNs >= best - 1e-9);
    const bool offloads = std::any_of(schedule->blocks.begin(), schedule->blocks.end(),
                                      [](const PofoBlock &block) { return block.isOffloaded; });
    const bool repeats = schedule->runs.size() > 2 * n;
    ++feasible;
    offloading += offloads;
    repeating += repeats;
    both += offloads && repeats;
  }
  CHECK(feasible > 100);
  CHECK(offloading > 20);
  CHECK(repeating > 20);
  CHECK(both > 0);
}

TEST_CASE("POFO with a faster link is not slower, and without one is rematerialization", "[swap][pofo]") {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    PofoChain chain;
    for (size_t i = 0; i < 7; ++i)
      chain.stages.push_back(randomStage(rng, i == 6));
    chain.memoryBytes = 14;
    double before = kNever;
    for (const double rate : {0.0, 0.25, 1.0, 1e9}) {
      chain.outBytesPerNs = chain.inBytesPerNs = rate;
      Expected<PofoSchedule> schedule = solvePofo(chain, kExact);
      if (!schedule) {
        CHECK(before == kNever);
        continue;
      }
      CHECK(schedule->timeNs <= before + 1e-6);
      CHECK((rate > 0 || runsNs(chain, *schedule) == schedule->timeNs));
      before = schedule->timeNs;
    }
  }
}

TEST_CASE("POFO refuses malformed and long chains", "[swap][pofo]") {
  CHECK(solvePofo({}).error().code == ErrorCode::InvalidInput);
  CHECK(solvePofo({{plainStage(1, 1)}, 10, 0, 0}, {0, 0}).error().code == ErrorCode::InvalidInput);
  CHECK(solvePofo({std::vector<PofoStage>(401, plainStage(1, 1)), 10, 0, 0}).error().code == ErrorCode::Unsupported);
}

TEST_CASE("plans of POFO are valid, run again and offload", "[swap][pofo]") {
  int planned = 0, repeated = 0, offloaded = 0, beforeDtr = 0;
  for (const size_t layers : {4, 8, 16, 30})
    for (const int64_t slots : {5, 6, 8, 12})
      for (const int64_t bytes : {kMiB / 4, kMiB, 4 * kMiB}) {
        Instance instance;
        fillLinear(instance, layers, bytes);
        instance.capacity[1] = slots * bytes;
        Expected<Plan> plan = planPofo(instance.problem());
        INFO(layers << " layers in " << slots << " slots of " << bytes);
        REQUIRE(plan);
        Status status = validateLimited(instance, *plan);
        INFO((status ? std::string() : status.error().message));
        REQUIRE(status);
        const bool offloads = std::any_of(plan->residencies.begin(), plan->residencies.end(), [](const Residency &r) {
          return r.memory == Machine::hostMemory() && r.segment == Segment::Arena;
        });
        ++planned;
        repeated += !plan->computedAgain().empty();
        offloaded += offloads;
        beforeDtr += makespanNs(instance, *plan) < static_cast<int64_t>(2 * layers + 4) * kUnitNs;
      }
  CHECK(planned == 48);
  CHECK(repeated > 8);
  CHECK(offloaded > 8);
  CHECK(beforeDtr > 8);
}

TEST_CASE("POFO with enough memory runs everything once and moves no result", "[swap][pofo]") {
  Instance instance;
  fillLinear(instance, 12, kMiB);
  instance.capacity[1] = 40 * kMiB;
  Expected<Plan> plan = planPofo(instance.problem());
  REQUIRE(plan);
  CHECK(plan->computedAgain().empty());
  for (const Residency &r : plan->residencies)
    CHECK((r.memory != Machine::hostMemory() || r.segment == Segment::Home));
}

TEST_CASE("POFO refuses what is no chain, several memories and too little memory", "[swap][pofo]") {
  Instance instance;
  SECTION("an early result that the last layer reads") {
    fillLinear(instance, 6);
    // a0 passes all boundaries but its own, so f1 to f5 are one stage.
    Graph graph;
    for (Tensor tensor : instance.graph.tensors()) {
      tensor.consumers.clear();
      tensor.producer = OperatorId();
      graph.addTensor(std::move(tensor));
    }
    for (Operator op : instance.graph.operators()) {
      if (op.name == "f5")
        op.inputs.push_back(TensorId(1u));
      graph.addOperator(std::move(op));
    }
    instance.graph = std::move(graph);
    Expected<Plan> plan = planPofo(instance.problem());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::Unsupported);
    CHECK(plan.error().message.find(
              "the forward pass has no point after which operators read only one earlier tensor") != std::string::npos);
  }
  SECTION("a single layer") {
    fillLinear(instance, 1);
    Expected<Plan> plan = planPofo(instance.problem());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::Unsupported);
    CHECK(plan.error().message.find("is not a chain") != std::string::npos);
    CHECK(plan.error().message.find("use --solver search=default") != std::string::npos);
  }
  SECTION("a backward operator that reads an inner tensor of another stage") {
    fillLinear(instance, 4);
    Operator extra;
    extra.name = "late";
    extra.kind = "test";
    for (const char *name : {"a0", "a1", "a2", "a3", "g0"})
      for (uint32_t t = 0; t < instance.graph.numTensors(); ++t)
        if (instance.graph.tensor(TensorId(t)).name == name)
          extra.inputs.push_back(TensorId(t));
    extra.outputs = {addTensor(instance.graph, "y", 64)};
    // The output of the last layer ends the forward pass.
    instance.graph.mutableTensor(extra.inputs[3]).isOutput = true;
    instance.graph.mutableTensor(extra.inputs[4]).isOutput = false;
    instance.graph.addOperator(extra);
    instance.placement.clear();
    complete(instance);
    Expected<Plan> plan = planPofo(instance.problem());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::Unsupported);
    CHECK(plan.error().message.find("operator 'late' of the backward pass needs") != std::string::npos);
  }
  SECTION("several memories") {
    fillLinear(instance, 3);
    instance.placement.front() = DeviceId(0u);
    Expected<Plan> plan = planPofo(instance.problem());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::Unsupported);
    CHECK(plan.error().message.find("POFO supports a single accelerator only") != std::string::npos);
  }
  SECTION("too little memory") {
    fillLinear(instance, 6);
    instance.capacity[1] = 192;
    Expected<Plan> plan = planPofo(instance.problem());
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::Infeasible);
    CHECK(plan.error().message.find("raise --memory") != std::string::npos);
  }
}
