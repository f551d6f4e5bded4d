//===- CollectiveTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CollectiveCheck.h"
#include "TestModel.h"

#include <chrono>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

struct DestroyGroup {
  void operator()(sluice_local_group *group) const { sluice_local_group_destroy(group); }
};
using GroupPtr = std::unique_ptr<sluice_local_group, DestroyGroup>;

/// Runs `body` as every rank, each on a thread.
template <typename Body>
void asRanks(sluice_local_group *group, uint32_t count, const Body &body) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] { body(*sluice_local_group_member(group, rank)); });
  for (std::thread &thread : threads)
    thread.join();
}

sluice_collective sumOf(int64_t floats, int64_t ranks) {
  sluice_collective what{};
  what.element_type = 1, what.bytes = floats * 4;
  what.num_axes = 1, what.axes[0] = {ranks, 1};
  return what;
}

constexpr int64_t kFloats = 64;
constexpr uint32_t kRanks = 3;
constexpr int64_t kPlanned[kRanks] = {};

/// y = the sum of all ranks' x.
int32_t sumKernel(const sluice_kernel_env *env, void **args) {
  static const sluice_collective kSum = sumOf(kFloats, kRanks);
  return env->collective(env->ranks, SLUICE_COLLECTIVE_ALL_REDUCE, args, &kSum, sizeof kSum);
}

int32_t sumProgram(const sluice_api *api, sluice_context *context) {
  const int64_t bytes = kFloats * 4;
  const sluice_slot slots[] = {inputSlot(bytes), outputSlot(bytes), arenaSlot(0, 0, 2 * bytes)};
  return api->launch(context, 0, streamOf(0, SLUICE_STREAM_COMPUTE), sumKernel, 0, slots, 3, nullptr, 0);
}

} // namespace

TEST_CASE("random collectives do what abi.h says", "[runtime]") {
  for (uint32_t ranks : {1u, 2u, 3u, 4u, 6u, 8u}) {
    GroupPtr group(sluice_local_group_create(ranks));
    std::vector<std::string> wrong(ranks);
    if (ranks > 1)
      asRanks(group.get(), ranks, [&](const sluice_communicator &communicator) {
        wrong[communicator.rank] = checkCollectives(communicator, ranks, 200);
      });
    for (const std::string &what : wrong)
      CHECK(what == "");
  }
}

TEST_CASE("a group's members are in the order of its axes", "[runtime]") {
  sluice_collective what{};
  what.num_axes = 2, what.axes[0] = {2, 1}, what.axes[1] = {2, 4};
  auto group = runtime::groupOf(what, 6, 8);
  REQUIRE(group);
  CHECK(group->members == std::vector<uint32_t>{2, 6, 3, 7});
  CHECK(group->position == 1);
}

TEST_CASE("sums have the same bits on every rank", "[runtime]") {
  GroupPtr group(sluice_local_group_create(4));
  std::vector<std::vector<float>> results(4, std::vector<float>(1001));
  asRanks(group.get(), 4, [&](const sluice_communicator &communicator) {
    std::mt19937 random(communicator.rank);
    std::vector<float> x(1001), workspace(2000);
    for (float &value : x)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    int64_t sent = 0;
    CHECK(runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(1001, 4), x.data(),
                                 results[communicator.rank].data(), workspace.data(), sent));
  });
  for (const std::vector<float> &result : results)
    CHECK(result == results[0]);
}

TEST_CASE("sessions of one model sum across ranks", "[runtime]") {
  GroupPtr group(sluice_local_group_create(kRanks));
  asRanks(group.get(), kRanks, [&](const sluice_communicator &communicator) {
    TestModel model(sumProgram, kFloats);
    model.model.num_ranks = kRanks, model.model.planned_bytes_sent = kPlanned;
    sluice_options options{sizeof(sluice_options), 1, 0, 0, &communicator, nullptr};
    SessionPtr session(sluice_open_model(model.get(), nullptr, 0, &options));
    std::vector<float> x(kFloats, static_cast<float>(1 << communicator.rank)), y(kFloats);
    const bool opened = session != nullptr;
    CHECK(opened);
    for (int step = 0; opened && step < 2; ++step) {
      CHECK(runOnce(session.get(), x, y) == 0);
      CHECK(y == std::vector<float>(kFloats, 7));
      const auto own = runtime::groupOf(sumOf(kFloats, kRanks), communicator.rank, kRanks);
      CHECK(statsOf(session.get()).bytes_sent ==
            runtime::bytesSent(SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(kFloats, kRanks), *own));
    }
  });
}

TEST_CASE("a model runs on as many ranks as it is for", "[runtime]") {
  TestModel model(sumProgram, kFloats);
  model.model.num_ranks = kRanks;
  CHECK(!model.open());
  CHECK(sluice_last_error() == std::string("model is for 3 ranks and does not say what they send, compile it again"));
  model.model.planned_bytes_sent = kPlanned;
  CHECK(!model.open());
  CHECK(sluice_last_error() == std::string("model 'test' is for 3 ranks and runs on 1, start as many"));
  GroupPtr group(sluice_local_group_create(2));
  sluice_options options{sizeof(sluice_options), 1, 0, 0, sluice_local_group_member(group.get(), 0), nullptr};
  CHECK(!sluice_open_model(model.get(), nullptr, 0, &options));
  model.model.num_ranks = 0;
  SessionPtr alone = model.open();
  std::vector<float> x(kFloats), y(kFloats);
  CHECK(runOnce(alone.get(), x, y) != 0);
  CHECK(sluice_last_error() ==
        std::string("operator 'first' failed: the model's ranks run together, open it with a communicator"));
}

TEST_CASE("a rank that leaves ends the others' waiting", "[runtime]") {
  GroupPtr group(sluice_local_group_create(3));
  asRanks(group.get(), 3, [&](const sluice_communicator &communicator) {
    if (communicator.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      sluice_local_group_leave(group.get(), 1, "it was killed");
      return;
    }
    std::vector<float> x(8), workspace(16);
    for (int i = 0; i < 2; ++i) { // Later ones fail too.
      int64_t sent = 0;
      auto status = runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(8, 3), x.data(), x.data(),
                                           workspace.data(), sent);
      CHECK(!status);
      CHECK(status.error() == "rank 1 takes part no more: it was killed");
    }
  });
}

TEST_CASE("ranks of other programs are told before the first step", "[runtime]") {
  GroupPtr group(sluice_local_group_create(kRanks));
  asRanks(group.get(), kRanks, [&](const sluice_communicator &communicator) {
    TestModel model(sumProgram, kFloats);
    model.model.num_ranks = kRanks, model.model.planned_bytes_sent = kPlanned;
    if (communicator.rank == 1)
      model.model.planned_bytes_in = 1;
    sluice_options options{sizeof(sluice_options), 1, 0, 0, &communicator, nullptr};
    SessionPtr session(sluice_open_model(model.get(), nullptr, 0, &options));
    std::vector<float> x(kFloats), y(kFloats);
    CHECK(runOnce(session.get(), x, y) != 0);
    const std::string other = communicator.rank == 1 ? "0" : "1";
    CHECK(sluice_last_error() == "rank " + other + " runs another program than rank " +
                                     std::to_string(communicator.rank) + ", give all ranks the same compiled model");
  });
}

TEST_CASE("ranks that disagree are told", "[runtime]") {
  GroupPtr group(sluice_local_group_create(2));
  asRanks(group.get(), 2, [&](const sluice_communicator &communicator) {
    std::vector<float> x(16), workspace(32);
    int64_t sent = 0;
    auto status =
        runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(communicator.rank ? 8 : 16, 2),
                               x.data(), x.data(), workspace.data(), sent);
    CHECK(!status);
    CHECK(status.error().find("the ranks run different programs") != std::string::npos);
  });
}

TEST_CASE("settings that contradict each other are refused", "[runtime]") {
  GroupPtr group(sluice_local_group_create(2));
  const sluice_communicator &communicator = *sluice_local_group_member(group.get(), 0);
  std::vector<char> data(64);
  int64_t sent = 0;
  auto refused = [&](uint32_t kind, const sluice_collective &what) {
    return !runtime::runCollective(communicator, kind, what, data.data(), data.data(), data.data(), sent);
  };
  sluice_collective what = sumOf(8, 2);
  what.element_type = 10;
  CHECK(refused(SLUICE_COLLECTIVE_ALL_REDUCE, what));
  what = sumOf(8, 3);
  CHECK(refused(SLUICE_COLLECTIVE_ALL_REDUCE, what));
  what = sumOf(8, 0);
  CHECK(refused(SLUICE_COLLECTIVE_ALL_REDUCE, what));
  what = sumOf(8, 2), what.split_outer = 1, what.split_inner = 3;
  CHECK(refused(SLUICE_COLLECTIVE_SHARD, what));
  what = sumOf(8, 2), what.split_outer = 1, what.split_inner = 4, what.extent = 8, what.low = 9;
  CHECK(refused(SLUICE_COLLECTIVE_HALO, what));
  CHECK(refused(17, sumOf(8, 2)));
  CHECK(!sluice_local_group_create(0));
  CHECK(!sluice_local_group_member(group.get(), 2));
}
