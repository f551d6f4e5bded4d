//===- RandomProgramTest.cpp - Random programs against one thread ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Programs of launches and copies on every stream of a host and an accelerator,
// with exactly the waits that their reads and writes need. Their result is that
// of running them one by one; under the thread sanitizer, an event that does
// not order memory shows too.
//
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include <random>

using namespace sluice::test;

namespace {

constexpr uint32_t kPlaces = 8; ///< Of 8 bytes, in each memory.
constexpr uint32_t kCommands = 400;

struct RandomCommand {
  uint32_t stream;
  bool launch;
  /// Place p of memory m is m * kPlaces + p. Two reads of a launch, one of a copy.
  uint32_t reads[2], write;
  std::vector<uint32_t> waits;
};

std::vector<RandomCommand> program;

std::vector<RandomCommand> randomProgram(uint32_t seed) {
  std::mt19937 rng(seed);
  auto below = [&](uint32_t bound) { return static_cast<uint32_t>(rng() % bound); };
  std::vector<RandomCommand> commands;
  std::vector<std::vector<uint32_t>> readers(2 * kPlaces);
  std::vector<int> writer(2 * kPlaces, -1);
  for (uint32_t number = 0; number < kCommands; ++number) {
    RandomCommand command{};
    uint32_t kind = below(4), from = kind == 1 || kind == 3 ? 1 : 0, to = kind == 1 || kind == 2 ? 1 : 0;
    command.launch = kind < 2;
    command.stream = kind == 0   ? streamOf(0, SLUICE_STREAM_COMPUTE)
                     : kind == 1 ? streamOf(1, SLUICE_STREAM_COMPUTE)
                     : kind == 2 ? streamOf(1, SLUICE_STREAM_IN)
                                 : streamOf(1, SLUICE_STREAM_OUT);
    for (uint32_t &read : command.reads)
      read = from * kPlaces + below(kPlaces);
    if (!command.launch)
      command.reads[1] = command.reads[0];
    command.write = to * kPlaces + below(kPlaces);
    auto wait = [&](int on) {
      if (on >= 0 && commands[static_cast<uint32_t>(on)].stream != command.stream)
        command.waits.push_back(static_cast<uint32_t>(on));
    };
    for (uint32_t read : command.reads) {
      wait(writer[read]);
      readers[read].push_back(number);
    }
    wait(writer[command.write]);
    for (uint32_t reader : readers[command.write])
      if (reader != number)
        wait(static_cast<int>(reader));
    readers[command.write].clear();
    writer[command.write] = static_cast<int>(number);
    commands.push_back(std::move(command));
  }
  return commands;
}

uint64_t mix(uint64_t a, uint64_t b) { return (a * 6364136223846793005u + 1442695040888963407u) ^ (b >> 7) ^ (b << 9); }

int32_t mixKernel(const sluice_kernel_env *, void **args) {
  *static_cast<uint64_t *>(args[2]) = mix(*static_cast<uint64_t *>(args[0]), *static_cast<uint64_t *>(args[1]));
  return 0;
}

int32_t runProgram(const sluice_api *api, sluice_context *context) {
  auto place = [](uint32_t id) { return arenaSlot(id / kPlaces, id % kPlaces * 8, 8); };
  uint32_t number = 0;
  for (const RandomCommand &command : program) {
    sluice_slot slots[] = {place(command.reads[0]), place(command.reads[1]), place(command.write)};
    auto numWaits = static_cast<uint32_t>(command.waits.size());
    int32_t failed =
        command.launch
            ? api->launch(context, number, command.stream, mixKernel, 0, slots, 3, command.waits.data(), numWaits)
            : api->copy(context, number, command.stream, 0, &slots[2], &slots[0], 8, 0, command.waits.data(), numWaits);
    if (failed)
      return failed;
    ++number;
  }
  std::vector<uint32_t> all(number);
  for (uint32_t i = 0; i < number; ++i)
    all[i] = i;
  sluice_slot home = arenaSlot(0, 0, kPlaces * 8), output = outputSlot(kPlaces * 8);
  return api->copy(context, number, streamOf(0, SLUICE_STREAM_OUT), UINT32_MAX, &output, &home, kPlaces * 8, 0,
                   all.data(), number);
}

} // namespace

TEST_CASE("random programs give what one thread gives", "[runtime]") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    program = randomProgram(seed);
    TestModel model(runProgram, kPlaces * 2, 1, kPlaces * 8);
    SessionPtr session = model.open();
    REQUIRE(session);
    std::vector<uint64_t> expected(2 * kPlaces, 0), got(kPlaces);
    std::vector<float> x(kPlaces * 2);
    // The arenas keep their contents, so a second step goes on from the first.
    for (int step = 0; step < 3; ++step) {
      for (const RandomCommand &command : program)
        expected[command.write] =
            command.launch ? mix(expected[command.reads[0]], expected[command.reads[1]]) : expected[command.reads[0]];
      const void *inputs[] = {x.data()};
      void *outputs[] = {got.data()};
      REQUIRE(sluice_run(session.get(), inputs, outputs) == 0);
      INFO("seed " << seed << ", step " << step);
      REQUIRE(std::equal(got.begin(), got.end(), expected.begin()));
    }
  }
}
