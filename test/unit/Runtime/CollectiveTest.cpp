//===- CollectiveTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CollectiveCheck.h"
#include "TestModel.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

struct DestroyGroup {
  void operator()(sluice_local_group *group) const { sluice_local_group_destroy(group); }
};
using GroupPtr = std::unique_ptr<sluice_local_group, DestroyGroup>;

/// Runs `body`, which says what is wrong, as every rank, each on a thread; checks are
/// one thread's business. Who is wrong leaves.
template <typename Body>
void asRanks(sluice_local_group *group, uint32_t count, const Body &body) {
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(count);
  for (uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      wrong[rank] = body(*sluice_local_group_member(group, rank));
      if (!wrong[rank].empty())
        sluice_local_group_leave(group, rank, wrong[rank].c_str());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &what : wrong)
    CHECK(what == "");
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
    if (ranks > 1)
      asRanks(group.get(), ranks,
              [&](const sluice_communicator &communicator) { return checkCollectives(communicator, ranks, 200); });
  }
}

TEST_CASE("a group's members are in the order of its axes", "[runtime]") {
  sluice_collective what{};
  what.num_axes = 2, what.axes[0] = {2, 1}, what.axes[1] = {2, 4};
  auto group = runtime::groupOf(SLUICE_COLLECTIVE_ALL_REDUCE, what, 6, 8);
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
    auto status = runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(1001, 4), x.data(),
                                         results[communicator.rank].data(), workspace.data(), sent);
    return status ? std::string() : status.error();
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
    std::string wrong = session ? "" : sluice_last_error();
    for (int step = 0; wrong.empty() && step < 2; ++step) {
      const auto own =
          runtime::groupOf(SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(kFloats, kRanks), communicator.rank, kRanks);
      if (runOnce(session.get(), x, y) != 0)
        wrong = sluice_last_error();
      else if (y != std::vector<float>(kFloats, 7))
        wrong = "another sum";
      else if (statsOf(session.get()).bytes_sent !=
               runtime::bytesSent(SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(kFloats, kRanks), *own))
        wrong = "other bytes sent";
    }
    return wrong;
  });
}

namespace {

constexpr uint32_t kCommunicate = 3, kSteps = 200;
constexpr int64_t kBytes = kFloats * 4;
constexpr int kSums = 4;
std::atomic<int> sumsBegun{0}, computedBeside{0}; // By rank 0.

int32_t reaches(const std::atomic<int> &counter, float count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (counter.load() < static_cast<int>(count)) {
    if (std::chrono::steady_clock::now() > end)
      return 1;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return 0;
}
// Operands begin with the rank and the step. Rank 1 gives its part of the sum once
// rank 0, whose sum has begun, has computed beside it.
int32_t produceKernel(const sluice_kernel_env *, void **args) {
  const auto *x = static_cast<const float *>(args[0]);
  std::memcpy(args[1], args[0], kBytes);
  return x[0] == 1 ? reaches(computedBeside, x[1]) : 0;
}
int32_t countedSumKernel(const sluice_kernel_env *env, void **args) {
  sumsBegun += *static_cast<const float *>(args[0]) == 0;
  return sumKernel(env, args);
}
int32_t besideKernel(const sluice_kernel_env *, void **args) {
  const auto *x = static_cast<const float *>(args[0]);
  std::fill_n(static_cast<float *>(args[1]), kFloats, x[2]);
  const int32_t failed = x[0] == 0 ? reaches(sumsBegun, x[1]) : 0;
  computedBeside += x[0] == 0;
  return failed;
}
int32_t failingKernel(const sluice_kernel_env *, void **args) {
  return static_cast<int32_t>(static_cast<const float *>(args[0])[2]);
}
int32_t addKernel(const sluice_kernel_env *, void **args) {
  for (int64_t i = 0; i < kFloats; ++i)
    static_cast<float *>(args[2])[i] = static_cast<const float *>(args[0])[i] + static_cast<const float *>(args[1])[i];
  return 0;
}
/// Ranks are late by turns.
int32_t lateKernel(const sluice_kernel_env *, void **args) {
  const auto *x = static_cast<const float *>(args[0]);
  std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(x[0] * 37 + x[1] * 53) % 200));
  return addKernel(nullptr, args);
}

/// y = sum of all x + x[2], the latter made while the sum waits for rank 1.
int32_t besideProgram(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const sluice_slot x = inputSlot(kBytes), a = arenaSlot(0, 0, kBytes), sum = arenaSlot(0, kBytes, kBytes),
                    beside = arenaSlot(0, 2 * kBytes, kBytes), workspace = arenaSlot(0, 3 * kBytes, 2 * kBytes);
  const uint32_t produced = issue.launch(SLUICE_STREAM_COMPUTE, produceKernel, {x, a});
  const uint32_t summed = issue.launch(kCommunicate, countedSumKernel, {a, sum, workspace}, {produced}, 1);
  issue.launch(SLUICE_STREAM_COMPUTE, besideKernel, {x, beside});
  issue.launch(SLUICE_STREAM_COMPUTE, addKernel, {sum, beside, outputSlot(kBytes)}, {summed});
  return issue.failed;
}

/// Sums of sums, each beside an addition on which later ones depend.
int32_t chainProgram(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const sluice_slot x = inputSlot(kBytes);
  auto place = [](int64_t i) { return arenaSlot(0, i * kBytes, kBytes); };
  const sluice_slot workspace = arenaSlot(0, 16 * kBytes, 2 * kBytes);
  // Places 0 to kSums - 1 take sums, kSums and kSums + 1 by turns what is added up.
  uint32_t added = issue.launch(SLUICE_STREAM_COMPUTE, lateKernel, {x, x, place(kSums)});
  std::vector<uint32_t> sums;
  for (int i = 0; i < kSums; ++i) {
    const sluice_slot from = place(kSums + i), to = place(kSums + i + 1);
    sums.push_back(issue.launch(kCommunicate, sumKernel, {from, place(i), workspace}, {added}, 1));
    added = issue.launch(SLUICE_STREAM_COMPUTE, lateKernel, {x, from, to});
  }
  for (int i = 0; i < kSums; ++i)
    added =
        issue.launch(SLUICE_STREAM_COMPUTE, addKernel,
                     {place(i), place(2 * kSums + i), i + 1 == kSums ? outputSlot(kBytes) : place(2 * kSums + i + 1)},
                     {sums[static_cast<size_t>(i)]});
  return issue.failed;
}

/// A model of the ranks with a stream of its own for what they do together.
TestModel communicating(TestModel::Program program, uint32_t accelerators = 0) {
  TestModel model(program, kFloats, accelerators, 32 * kBytes);
  model.streams.insert(model.streams.begin() + kCommunicate,
                       {sizeof(sluice_stream_desc), 0, SLUICE_STREAM_COMMUNICATE});
  model.model.num_ranks = kRanks, model.model.planned_bytes_sent = kPlanned;
  return model;
}

SessionPtr openAs(const sluice_communicator &communicator, TestModel &model) {
  sluice_options options{sizeof(sluice_options), 1, 1, 0, &communicator, nullptr};
  return SessionPtr(sluice_open_model(model.get(), nullptr, 0, &options));
}

} // namespace

TEST_CASE("ranks compute while they wait for each other", "[runtime]") {
  GroupPtr group(sluice_local_group_create(kRanks));
  sumsBegun = computedBeside = 0;
  asRanks(group.get(), kRanks, [&](const sluice_communicator &communicator) {
    TestModel model = communicating(besideProgram);
    SessionPtr session = openAs(communicator, model);
    std::string wrong = session ? "" : sluice_last_error();
    for (uint32_t step = 1; wrong.empty() && step <= kSteps; ++step) {
      std::vector<float> x(kFloats, 1), y(kFloats);
      x[0] = static_cast<float>(communicator.rank), x[1] = static_cast<float>(step), x[2] = 7;
      if (runOnce(session.get(), x, y) != 0)
        wrong = sluice_last_error();
      else if (y[0] != 3 + 7 || y[1] != 3 * x[1] + 7 || y[kFloats - 1] != 3 + 7)
        wrong = "another sum";
      size_t count = 0;
      const sluice_command_time *times = sluice_trace(session.get(), &count);
      // Rank 0's sum waits for rank 1, which waits for what rank 0 computes.
      if (wrong.empty() && communicator.rank == 0 &&
          (count != 4 || times[1].start_ns > times[2].end_ns || times[1].end_ns < times[2].start_ns))
        wrong = "nothing was computed beside the sum";
    }
    return wrong;
  });
}

TEST_CASE("sums beside computing have the bits of sums between", "[runtime]") {
  std::vector<std::vector<float>> results[2];
  for (bool isInline : {false, true}) {
    results[isInline].assign(kRanks * kSteps, std::vector<float>(kFloats));
    GroupPtr group(sluice_local_group_create(kRanks));
    asRanks(group.get(), kRanks, [&](const sluice_communicator &member) {
      sluice_communicator communicator = member;
      communicator.calling_thread = isInline;
      TestModel model = communicating(chainProgram);
      SessionPtr session = openAs(communicator, model);
      std::string wrong = session ? "" : sluice_last_error();
      for (uint32_t step = 0; wrong.empty() && step < kSteps; ++step) {
        std::mt19937 random(step * kRanks + member.rank);
        std::vector<float> x(kFloats);
        for (float &value : x)
          value = std::uniform_real_distribution<float>(0, 1)(random);
        x[0] = static_cast<float>(member.rank), x[1] = static_cast<float>(step);
        if (runOnce(session.get(), x, results[isInline][step * kRanks + member.rank]) != 0)
          wrong = sluice_last_error();
      }
      return wrong;
    });
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("what communicates has streams of its own", "[runtime]") {
  GroupPtr group(sluice_local_group_create(kRanks));
  sluice_communicator communicator = *sluice_local_group_member(group.get(), 0);
  communicator.calling_thread = 1;
  TestModel accelerated = communicating(besideProgram, 1);
  CHECK(!openAs(communicator, accelerated));
  CHECK(sluice_last_error() ==
        std::string("model 'test' exchanges data on a second thread, and the communicator serves only the calling "
                    "thread, start MPI with MPI_THREAD_SERIALIZED or compile for 'host'"));
  // Models from before such streams exchange on the one that computes, which is a thread too.
  accelerated.streams.erase(accelerated.streams.begin() + kCommunicate);
  CHECK(!openAs(communicator, accelerated));
  accelerated = communicating(besideProgram, 1);
  // Older ones say nothing of threads.
  communicator.size = offsetof(sluice_communicator, calling_thread);
  CHECK(openAs(communicator, accelerated));

  TestModel copying = communicating([](const sluice_api *api, sluice_context *context) {
    Issuer issue{api, context};
    issue.copy(kCommunicate, arenaSlot(0, 0, 4), arenaSlot(0, 4, 4), {}, UINT32_MAX);
    return issue.failed;
  });
  copying.model.num_ranks = 1;
  SessionPtr session = copying.open();
  std::vector<float> x(kFloats), y(kFloats);
  CHECK(runOnce(session.get(), x, y) != 0);
  CHECK(std::string(sluice_last_error()).find("is issued on a stream that only communicates") != std::string::npos);
}

TEST_CASE("after a step that failed ranks run no other", "[runtime]") {
  GroupPtr group(sluice_local_group_create(kRanks));
  std::atomic<int> through{0};
  asRanks(group.get(), kRanks, [&](const sluice_communicator &communicator) {
    // The same operator fails on all; what they exchange beside it may be done on some.
    TestModel model = communicating([](const sluice_api *api, sluice_context *context) {
      Issuer issue{api, context};
      const sluice_slot x = inputSlot(kBytes), sum = arenaSlot(0, 0, kBytes),
                        workspace = arenaSlot(0, kBytes, 2 * kBytes);
      issue.launch(kCommunicate, sumKernel, {x, sum, workspace}, {}, 1);
      issue.launch(SLUICE_STREAM_COMPUTE, failingKernel, {x, outputSlot(kBytes)});
      return issue.failed;
    });
    SessionPtr session = openAs(communicator, model);
    std::vector<float> x(kFloats), y(kFloats);
    if (runOnce(session.get(), x, y) != 0)
      return std::string(sluice_last_error());
    // Nobody leaves while another is in that step.
    ++through;
    reaches(through, kRanks);
    x[2] = 7;
    if (runOnce(session.get(), x, y) == 0)
      return std::string("no error");
    const std::string first = sluice_last_error();
    // Who is still in its sum learns it so.
    sluice_local_group_leave(group.get(), communicator.rank, "its step failed");
    const bool failed = runOnce(session.get(), x, y) != 0;
    const std::string second = failed ? sluice_last_error() : "no error";
    if (first.find("failed with code 7") == std::string::npos && first.find("its step failed") == std::string::npos)
      return first;
    return second == "an earlier step failed, so ranks may be at different points of the program, open the model again "
                     "on all ranks"
               ? std::string()
               : second;
  });
}

TEST_CASE("a model runs on as many ranks as it is for", "[runtime]") {
  TestModel model(sumProgram, kFloats);
  model.model.num_ranks = kRanks;
  CHECK(!model.open());
  CHECK(sluice_last_error() ==
        std::string("model is for 3 ranks and has no table of the bytes that they send, compile the model again"));
  model.model.planned_bytes_sent = kPlanned;
  CHECK(!model.open());
  CHECK(sluice_last_error() == std::string("model 'test' needs 3 ranks and was started on 1 rank, start 3 ranks"));
  GroupPtr group(sluice_local_group_create(2));
  sluice_options options{sizeof(sluice_options), 1, 0, 0, sluice_local_group_member(group.get(), 0), nullptr};
  CHECK(!sluice_open_model(model.get(), nullptr, 0, &options));
  model.model.num_ranks = 0;
  SessionPtr alone = model.open();
  std::vector<float> x(kFloats), y(kFloats);
  CHECK(runOnce(alone.get(), x, y) != 0);
  CHECK(sluice_last_error() == std::string("operator 'first' failed: the model has several ranks and was opened "
                                           "without a communicator, open the model with a communicator"));
}

TEST_CASE("a rank that leaves ends the others' waiting", "[runtime]") {
  GroupPtr group(sluice_local_group_create(3));
  asRanks(group.get(), 3, [&](const sluice_communicator &communicator) {
    if (communicator.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      sluice_local_group_leave(group.get(), 1, "it was killed");
      return std::string();
    }
    std::vector<float> x(8), workspace(16);
    for (int i = 0; i < 2; ++i) { // Later ones fail too.
      int64_t sent = 0;
      auto status = runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(8, 3), x.data(), x.data(),
                                           workspace.data(), sent);
      if (status || status.error() != "rank 1 has stopped: it was killed")
        return "exchange " + std::to_string(i) + ": " + (status ? "no error" : status.error());
    }
    return std::string();
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
    const bool failed = runOnce(session.get(), x, y) != 0;
    const std::string other = communicator.rank == 1 ? "0" : "1", said = failed ? sluice_last_error() : "no error";
    const std::string expected = "rank " + other + " and rank " + std::to_string(communicator.rank) +
                                 " run different programs, give all ranks the same compiled model";
    return said == expected ? std::string() : said;
  });
}

/// The same bytes from one rank to the next, around a ring of any number of ranks: half of them send first.
TEST_CASE("messages between two ranks arrive", "[runtime]") {
  for (uint32_t ranks : {2u, 3u, 5u}) {
    GroupPtr group(sluice_local_group_create(ranks));
    asRanks(group.get(), ranks, [&](const sluice_communicator &communicator) {
      std::vector<float> x(100, static_cast<float>(communicator.rank)), y(100, -1.0F);
      int64_t sent = 0, total = 0;
      const uint32_t before = (communicator.rank + ranks - 1) % ranks, after = (communicator.rank + 1) % ranks;
      auto run = [&](uint32_t kind, uint32_t peer) {
        sluice_collective what{};
        what.bytes = 400, what.peer = peer;
        auto status = runtime::runCollective(
            communicator, kind, what, kind == SLUICE_COLLECTIVE_SEND ? x.data() : nullptr, y.data(), nullptr, sent);
        auto own = runtime::groupOf(kind, what, communicator.rank, ranks);
        total += own ? runtime::bytesSent(kind, what, *own) : -1;
        return status ? std::string() : status.error();
      };
      const bool sendsFirst = communicator.rank + 1 < ranks;
      std::string wrong = sendsFirst && communicator.rank % 2 == 0 ? run(SLUICE_COLLECTIVE_SEND, after)
                                                                   : run(SLUICE_COLLECTIVE_RECEIVE, before);
      wrong += sendsFirst && communicator.rank % 2 == 0 ? run(SLUICE_COLLECTIVE_RECEIVE, before)
                                                        : run(SLUICE_COLLECTIVE_SEND, after);
      if (wrong.empty() && (sent != 400 || total != 400))
        wrong = "sent another number of bytes";
      for (float value : y)
        if (wrong.empty() && value != static_cast<float>(before))
          wrong = "received other bytes";
      return wrong;
    });
  }
}

TEST_CASE("a message's ranks and size must be possible", "[runtime]") {
  GroupPtr group(sluice_local_group_create(2));
  const sluice_communicator &communicator = *sluice_local_group_member(group.get(), 0);
  std::vector<char> data(64);
  int64_t sent = 0;
  for (uint32_t kind : {SLUICE_COLLECTIVE_SEND, SLUICE_COLLECTIVE_RECEIVE})
    for (auto [peer, bytes] : {std::pair<int64_t, int64_t>{0, 8}, {2, 8}, {-1, 8}, {1, -8}}) {
      sluice_collective what{};
      what.peer = peer, what.bytes = bytes;
      CHECK(!runtime::runCollective(communicator, kind, what, data.data(), data.data(), data.data(), sent));
    }
}

TEST_CASE("ranks that disagree are told", "[runtime]") {
  GroupPtr group(sluice_local_group_create(2));
  asRanks(group.get(), 2, [&](const sluice_communicator &communicator) {
    std::vector<float> x(16), workspace(32);
    int64_t sent = 0;
    auto status =
        runtime::runCollective(communicator, SLUICE_COLLECTIVE_ALL_REDUCE, sumOf(communicator.rank ? 8 : 16, 2),
                               x.data(), x.data(), workspace.data(), sent);
    const std::string said = status ? "no error" : status.error();
    return said.find("they run different programs") != std::string::npos ? std::string() : said;
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
