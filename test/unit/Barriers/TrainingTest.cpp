//===- TrainingTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Ranks that are threads fit a line to points by gradient descent.
//
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Training.h"

#include "sluice/Barriers/CheckTrace.h"
#include "sluice/Support/Rng.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

using namespace sluice;

namespace {

constexpr size_t kWeights = 7; ///< Not a multiple of 2, 3 or 4.

/// Squared error of a linear model on the points of one batch, in floats.
struct Line {
  std::vector<float> weights = std::vector<float>(kWeights);

  std::vector<float> gradients(int64_t batch, double &loss) const {
    Rng rng = Rng(1).fork(static_cast<uint64_t>(batch));
    std::vector<float> sum(kWeights);
    loss = 0;
    for (int point = 0; point < 8; ++point) {
      std::vector<float> x;
      float error = 0;
      for (size_t i = 0; i < kWeights; ++i) {
        x.push_back(static_cast<float>(rng.normal()));
        error += (weights[i] - static_cast<float>(i)) * x[i];
      }
      loss += double(error) * double(error) / 8;
      for (size_t i = 0; i < kWeights; ++i)
        sum[i] += error * x[i] / 4;
    }
    return sum;
  }
  void update(const std::vector<float> &sum, int64_t numRanks) {
    for (size_t i = 0; i < kWeights; ++i)
      weights[i] -= 0.1F * (sum[i] * static_cast<float>(1.0 / static_cast<double>(numRanks)));
  }
};

struct LineReplica : Replica {
  Line line;
  int64_t rank = 0, numRanks = 1;
  std::chrono::microseconds pause{0};

  Status step(int64_t step, std::span<const double> sum, std::span<double> gradients, double &loss) override {
    apply(sum);
    const std::vector<float> own = line.gradients(step * numRanks + rank, loss);
    std::copy(own.begin(), own.end(), gradients.begin());
    std::this_thread::sleep_for(pause);
    return {};
  }
  Status finish(std::span<const double> sum) override {
    apply(sum);
    return {};
  }
  void apply(std::span<const double> sum) {
    if (!sum.empty())
      line.update(std::vector<float>(sum.begin(), sum.end()), numRanks);
  }
};

BarrierTraining trainingOf(const char *barrier, int64_t steps) {
  BarrierTraining training;
  training.barrier = *parseBarrier(barrier);
  training.steps = steps;
  training.gradients = {{3, false}, {kWeights - 3, false}};
  return training;
}

struct Trained {
  std::vector<std::vector<RankStep>> steps;
  std::vector<Status> results;
};

/// Runs each replica on a thread; a rank that fails leaves.
template <typename R>
Trained train(const BarrierTraining &training, std::vector<R> &replicas) {
  const auto numRanks = static_cast<int64_t>(replicas.size());
  auto windows = LocalWindows::create(numRanks, training.windowDoubles(numRanks));
  REQUIRE(windows);
  Trained trained{std::vector<std::vector<RankStep>>(replicas.size()), std::vector<Status>(replicas.size())};
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < replicas.size(); ++rank)
    threads.emplace_back([&, rank] {
      const auto own = static_cast<int64_t>(rank);
      auto steps = trainUnderBarrier((*windows)->member(own), training, replicas[rank]);
      if (steps) {
        trained.steps[rank] = std::move(*steps);
        return;
      }
      trained.results[rank] = propagate(steps);
      (*windows)->leave(own, trained.results[rank].error().message);
    });
  for (std::thread &thread : threads)
    thread.join();
  return trained;
}

std::vector<LineReplica> linesOf(size_t numRanks, std::chrono::microseconds pause = {}) {
  std::vector<LineReplica> replicas(numRanks);
  for (size_t rank = 0; rank < numRanks; ++rank) {
    replicas[rank].rank = static_cast<int64_t>(rank);
    replicas[rank].numRanks = static_cast<int64_t>(numRanks);
    replicas[rank].pause = pause;
  }
  return replicas;
}

Trained trainAll(const BarrierTraining &training, std::vector<LineReplica> &replicas) {
  Trained trained = train(training, replicas);
  for (const Status &result : trained.results)
    REQUIRE(result);
  for (const auto &steps : trained.steps)
    REQUIRE(steps.size() == static_cast<size_t>(training.steps));
  return trained;
}

int64_t mostStale(const Trained &trained) {
  int64_t most = 0;
  for (const auto &rank : stalenessOf(trained.steps))
    most = std::max(most, *std::max_element(rank.begin(), rank.end()));
  return most;
}

bool sameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

TEST_CASE("bulk steps have the bits of one process that accumulates", "[barriers]") {
  for (size_t numRanks : {size_t(1), size_t(2), size_t(3), size_t(4), size_t(9)}) {
    CAPTURE(numRanks);
    constexpr int64_t kSteps = 20;
    Line reference;
    std::vector<double> losses;
    for (int64_t step = 0; step < kSteps; ++step) {
      std::vector<float> sum(kWeights);
      for (size_t rank = 0; rank < numRanks; ++rank) {
        const auto own = reference.gradients(step * static_cast<int64_t>(numRanks) + static_cast<int64_t>(rank),
                                             losses.emplace_back());
        for (size_t i = 0; i < kWeights; ++i)
          sum[i] += own[i];
      }
      reference.update(sum, static_cast<int64_t>(numRanks));
    }
    // A sample of all others is a view of all.
    for (const std::string &barrier : {std::string("bsp"), concat("pbsp:", numRanks - 1)}) {
      std::vector<LineReplica> replicas = linesOf(numRanks);
      const Trained trained = trainAll(trainingOf(barrier.c_str(), kSteps), replicas);
      CHECK(mostStale(trained) == 0);
      for (size_t rank = 0; rank < numRanks; ++rank) {
        CHECK(sameBits(replicas[rank].line.weights, reference.weights));
        for (size_t step = 0; step < static_cast<size_t>(kSteps); ++step)
          CHECK(trained.steps[rank][step].loss == losses[step * numRanks + rank]);
      }
    }
  }
}

TEST_CASE("all barriers train", "[barriers]") {
  for (const char *barrier : {"bsp", "ssp:2", "asp", "pbsp:1", "pbsp:2", "pssp:2,1"}) {
    CAPTURE(barrier);
    std::vector<LineReplica> replicas = linesOf(4, std::chrono::microseconds(200));
    const Trained trained = trainAll(trainingOf(barrier, 60), replicas);
    for (size_t rank = 0; rank < replicas.size(); ++rank) {
      CHECK(trained.steps[rank].back().loss < trained.steps[rank].front().loss / 20);
      // All have applied all gradients, in another order.
      for (size_t i = 0; i < kWeights; ++i)
        CHECK(replicas[rank].line.weights[i] == Approx(replicas[0].line.weights[i]).margin(1e-4));
    }
  }
}

TEST_CASE("every gradient is applied once", "[barriers]") {
  struct Counting : Replica {
    double total = 0;
    Status step(int64_t step, std::span<const double> sum, std::span<double> gradients, double &loss) override {
      for (double value : sum)
        total += value;
      for (size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = static_cast<double>(step) + static_cast<double>(i);
      loss = 0;
      return {};
    }
    Status finish(std::span<const double> sum) override {
      for (double value : sum)
        total += value;
      return {};
    }
  };
  constexpr int64_t kSteps = 50, kRanks = 3;
  double expected = 0;
  for (int64_t step = 0; step < kSteps; ++step)
    for (size_t i = 0; i < kWeights; ++i)
      expected += static_cast<double>(kRanks) * (static_cast<double>(step) + static_cast<double>(i));
  for (const char *barrier : {"bsp", "ssp:1", "asp", "pssp:1,1"}) {
    CAPTURE(barrier);
    std::vector<Counting> replicas(kRanks);
    train(trainingOf(barrier, kSteps), replicas);
    for (const Counting &replica : replicas)
      CHECK(replica.total == expected);
  }
}

TEST_CASE("a straggler slows down the ranks that see it", "[barriers]") {
  using std::chrono::microseconds;
  constexpr int64_t kSteps = 24;
  auto run = [&](const char *barrier) {
    std::vector<LineReplica> replicas = linesOf(3, microseconds(4000));
    replicas[0].pause = microseconds(12000);
    return trainAll(trainingOf(barrier, kSteps), replicas);
  };
  SECTION("not under asp") {
    const Trained trained = run("asp");
    for (size_t rank : {size_t(1), size_t(2)}) {
      for (const RankStep &step : trained.steps[rank])
        CHECK(step.tests == 1);
      // The straggler has hardly begun its second half, however busy the machine is.
      CHECK(trained.steps[rank].back().pushNs < trained.steps[0][kSteps * 3 / 4].pushNs);
    }
    CHECK(mostStale(trained) > 4);
  }
  SECTION("up to the staleness under ssp") {
    for (int64_t staleness : {1, 3}) {
      const Trained trained = run(concat("ssp:", staleness).c_str());
      CHECK(mostStale(trained) == staleness);
      for (size_t rank : {size_t(1), size_t(2)})
        CHECK(trained.steps[rank].back().pushNs >=
              trained.steps[0][static_cast<size_t>(kSteps - 2 - staleness)].pushNs);
    }
  }
  SECTION("in step under bsp") {
    const Trained trained = run("bsp");
    CHECK(mostStale(trained) == 0);
    const TrainingTrace common = traceOf(trained.steps);
    BarrierProblem problem;
    problem.workers = 3;
    problem.barrier = *parseBarrier("bsp");
    problem.durationNs = common.durationNs;
    const BarrierMetrics metrics = measureTrace(problem, common.trace);
    CHECK(metrics.meanLate == 0);
    CHECK(metrics.leastSteps >= kSteps - 1);
    // Two of three ranks wait for two thirds of the time.
    CHECK(metrics.waitingShare > 0.2);
  }
}

TEST_CASE("a rank that fails ends the others", "[barriers]") {
  struct Failing : LineReplica {
    Status step(int64_t step, std::span<const double> sum, std::span<double> gradients, double &loss) override {
      if (rank == 1 && step == 3)
        return makeError(ErrorCode::Io, "its disk is full");
      return LineReplica::step(step, sum, gradients, loss);
    }
  };
  for (const char *barrier : {"bsp", "ssp:2", "asp", "pbsp:1"}) {
    CAPTURE(barrier);
    std::vector<Failing> replicas(3);
    for (size_t rank = 0; rank < 3; ++rank)
      replicas[rank].rank = static_cast<int64_t>(rank), replicas[rank].numRanks = 3;
    const Trained trained = train(trainingOf(barrier, 10), replicas);
    REQUIRE_FALSE(trained.results[1]);
    CHECK(trained.results[1].error().message == "its disk is full");
    for (size_t rank : {size_t(0), size_t(2)}) {
      REQUIRE_FALSE(trained.results[rank]);
      CHECK(trained.results[rank].error().message == "rank 1 has stopped: its disk is full");
    }
  }
}

TEST_CASE("an interrupt ends the waits", "[barriers]") {
  std::atomic<bool> stopped = false;
  BarrierTraining training = trainingOf("bsp", 10);
  training.isStopped = [&] { return stopped.load(); };
  auto windows = LocalWindows::create(2, training.windowDoubles(2));
  REQUIRE(windows);
  LineReplica replica;
  replica.numRanks = 2;
  // The other rank never comes.
  std::thread interrupt([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stopped = true;
  });
  const auto steps = trainUnderBarrier((*windows)->member(0), training, replica);
  interrupt.join();
  REQUIRE_FALSE(steps);
  CHECK(steps.error().code == ErrorCode::Interrupted);
}

TEST_CASE("a training that cannot be is refused", "[barriers]") {
  auto fault = [](const char *barrier, int64_t steps, int64_t numRanks) {
    const Status status = trainingOf(barrier, steps).check(numRanks);
    return status ? std::string() : status.error().message;
  };
  CHECK(fault("pssp:1,2", 1, 3).empty());
  CHECK(fault("pbsp:3", 1, 3) ==
        "barrier 'pbsp:3' has a sample of 3 ranks, and each rank has only 2 other ranks, give a smaller sample");
  CHECK(fault("bsp", 0, 3) == "barrier 'bsp' needs at least one rank and one step, and the run has 3 ranks and 0 "
                              "steps, give at least one of each");
  CHECK(fault("bsp", 1, 0) == "barrier 'bsp' needs at least one rank and one step, and the run has 0 ranks and 1 "
                              "steps, give at least one of each");
  BarrierTraining busy = trainingOf("bsp", 1);
  busy.retestNs = 0;
  CHECK_FALSE(busy.check(2));
  BarrierTraining negative = trainingOf("bsp", 1);
  negative.barrier.staleness = -1;
  CHECK_FALSE(negative.check(2));
}

TEST_CASE("a window's ends are its ends", "[barriers]") {
  auto windows = LocalWindows::create(2, 4);
  REQUIRE(windows);
  Windows &member = (*windows)->member(0);
  std::vector<double> values = {1, 2, 3};
  CHECK(member.write(1, 1, values));
  CHECK(member.add(1, 1, values));
  CHECK((*windows)->member(1).read(1, 1, values));
  CHECK(values == std::vector<double>{2, 4, 6});
  for (int64_t first : {int64_t(-1), int64_t(2), int64_t(5), INT64_MAX}) {
    const Status status = member.write(1, first, values);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::Internal);
  }
  CHECK_FALSE(LocalWindows::create(2, INT64_MAX));
}
