//===- ExchangesTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Exchanges.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;

/// Activations to the next stage and gradients back, for all cuts.
static std::vector<PipelineTransfer> neighbours(const PipelineSchedule &schedule) {
  std::vector<PipelineTransfer> transfers;
  for (uint32_t stage = 0; stage + 1 < schedule.stages; ++stage) {
    const uint32_t here = schedule.groupOf(stage), there = schedule.groupOf(stage + 1);
    if (here == there)
      continue;
    transfers.push_back({TransferTime::Microbatch, here, there, {stage, 0, false}, {stage + 1, 0, false}});
    transfers.push_back({TransferTime::Microbatch, there, here, {stage + 1, 0, true}, {stage, 0, true}});
  }
  return transfers;
}

TEST_CASE("a group receives right before the task that reads", "[pipeline]") {
  // Group 0: F0 F1 B0 F2 B1 B2. Group 1: F0 B0 F1 B1 F2 B2.
  const PipelineSchedule schedule = *makeSchedule(PipelineKind::OneForward, 2, 2, 3);
  const std::vector<PipelineExchange> exchanges = *orderExchanges(schedule, neighbours(schedule));
  const std::vector<PipelineExchange> wanted = {{0, 0, 1, 0}, {0, 1, 2, 2}, {1, 0, 2, 2},
                                                {0, 2, 4, 4}, {1, 1, 4, 4}, {1, 2, 6, 5}};
  CHECK(exchanges == wanted);
}

TEST_CASE("weights are sent before all tasks and sums behind them", "[pipeline]") {
  const PipelineSchedule schedule = *makeSchedule(PipelineKind::GPipe, 2, 2, 2);
  std::vector<PipelineTransfer> transfers = {{TransferTime::End, 1, 0, {}, {}}, {TransferTime::Begin, 0, 1, {}, {}}};
  const std::vector<PipelineExchange> exchanges = *orderExchanges(schedule, transfers);
  CHECK(exchanges == std::vector<PipelineExchange>{{1, 0, 0, 0}, {0, 0, 4, 4}});
}

TEST_CASE("no group of any schedule waits forever", "[pipeline]") {
  Rng rng(7);
  for (uint32_t groups : {2u, 3u, 4u})
    for (uint32_t chunks : {1u, 2u, 3u})
      for (uint32_t rounds : {1u, 2u, 3u})
        for (PipelineKind kind : {PipelineKind::GPipe, PipelineKind::OneForward, PipelineKind::Interleaved}) {
          if (chunks > 1 && kind != PipelineKind::Interleaved)
            continue;
          const PipelineSchedule schedule = *makeSchedule(kind, groups, groups * chunks, groups * rounds);
          std::vector<PipelineTransfer> transfers = neighbours(schedule);
          // Values that several later stages read, and gradients that come back from there.
          for (int i = 0; i < 6; ++i) {
            const auto a = static_cast<uint32_t>(rng.below(schedule.stages)),
                       b = static_cast<uint32_t>(rng.below(schedule.stages));
            const uint32_t low = std::min(a, b), high = std::max(a, b);
            const uint32_t from = schedule.groupOf(low), to = schedule.groupOf(high);
            if (from == to)
              continue;
            transfers.push_back({TransferTime::Microbatch, from, to, {low, 0, false}, {high, 0, rng.chance(0.5)}});
            transfers.push_back({TransferTime::Microbatch, to, from, {high, 0, rng.chance(0.5)}, {low, 0, true}});
            transfers.push_back({TransferTime::Begin, from, to, {}, {}});
            transfers.push_back({TransferTime::End, to, from, {}, {}});
          }
          const Expected<std::vector<PipelineExchange>> exchanges = orderExchanges(schedule, transfers);
          REQUIRE(exchanges);
          CHECK(validateExchanges(schedule, transfers, *exchanges));
        }
}

TEST_CASE("transfers that no schedule has are refused", "[pipeline]") {
  const PipelineSchedule schedule = *makeSchedule(PipelineKind::OneForward, 2, 2, 3);
  CHECK_FALSE(orderExchanges(schedule, {{TransferTime::Microbatch, 0, 0, {0, 0, false}, {0, 0, true}}}));
  CHECK_FALSE(orderExchanges(schedule, {{TransferTime::Begin, 0, 2, {}, {}}}));
  CHECK_FALSE(orderExchanges(schedule, {{TransferTime::Microbatch, 0, 1, {1, 0, false}, {1, 0, true}}}));
  // A gradient does not reach the forward pass.
  CHECK_FALSE(orderExchanges(schedule, {{TransferTime::Microbatch, 1, 0, {1, 0, true}, {0, 0, false}}}));
  CHECK_FALSE(orderExchanges(schedule, {{TransferTime::Microbatch, 1, 0, {1, 0, false}, {0, 0, false}}}));
}

TEST_CASE("the check of exchanges refuses what would wait forever", "[pipeline]") {
  const PipelineSchedule schedule = *makeSchedule(PipelineKind::OneForward, 2, 2, 3);
  const std::vector<PipelineTransfer> transfers = neighbours(schedule);
  const std::vector<PipelineExchange> right = *orderExchanges(schedule, transfers);
  auto refuses = [&](auto change) {
    std::vector<PipelineExchange> wrong = right;
    change(wrong);
    return !validateExchanges(schedule, transfers, wrong);
  };
  CHECK_FALSE(refuses([](auto &) {}));
  CHECK(refuses([](auto &wrong) { wrong.pop_back(); }));
  CHECK(refuses([](auto &wrong) { wrong.push_back(wrong.back()); }));
  CHECK(refuses([](auto &wrong) { wrong[0].sendSlot = 0; }));
  CHECK(refuses([](auto &wrong) { wrong[0].takeSlot = 1; }));
  CHECK(refuses([](auto &wrong) { wrong[0].microbatch = 3; }));
  CHECK(refuses([](auto &wrong) { wrong[0].transfer = 2; }));
  CHECK(refuses([](auto &wrong) { wrong[0].sendSlot = 7; }));
  // Group 1 waits for F1 before it sends the gradient of 0, for which group 0 waits before it sends F1.
  CHECK(refuses([](auto &wrong) {
    wrong[1].sendSlot = 3;
    wrong[1].takeSlot = 1;
  }));
}
