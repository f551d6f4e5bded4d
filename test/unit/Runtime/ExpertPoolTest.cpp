//===- ExpertPoolTest.cpp - Models whose experts are read on demand -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExpertPool.h"
#include "Executor.h"
#include "ExpertCache.h"
#include "RefusedMemory.h"
#include "TestModel.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdlib.h>

using namespace sluice::runtime;
using namespace sluice::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kFloats = 1500, kBytes = kFloats * 4, kRange = 8192; ///< An expert's end is no block's.
constexpr uint32_t kExperts = 5, kDisk = 1, kCompute = streamOf(0, SLUICE_STREAM_COMPUTE);
constexpr const char *kNames[] = {"e0", "e1", "e2", "e3", "e4", "start"};

class Directory {
public:
  Directory() {
    std::string pattern = (fs::temp_directory_path() / "sluice-experts-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

float weightOf(uint32_t expert, int64_t i) { return static_cast<float>(1000 * (expert + 1) + i % 97); }

std::vector<char> parameters() {
  std::vector<char> bytes(kRange * (kExperts - 1) + kBytes);
  for (uint32_t e = 0; e < kExperts; ++e)
    for (int64_t i = 0; i < kFloats; ++i) {
      const float value = weightOf(e, i);
      std::memcpy(bytes.data() + e * kRange + 4 * i, &value, 4);
    }
  return bytes;
}

/// total' = total + w if byte `element` of the mask is set. An expert that is not chosen must not read w.
template <uint32_t element>
int32_t expertKernel(const sluice_kernel_env *, void **args) {
  const auto *mask = static_cast<const unsigned char *>(args[0]);
  const auto *total = static_cast<const float *>(args[1]);
  const auto *w = static_cast<const float *>(args[2]);
  auto *next = static_cast<float *>(args[3]);
  for (int64_t i = 0; i < kFloats; ++i)
    next[i] = mask[element] ? total[i] + w[i] : total[i];
  return 0;
}

int32_t failingKernel(const sluice_kernel_env *, void **args) {
  return static_cast<const unsigned char *>(args[0])[1] ? 7 : 0;
}

constexpr sluice_kernel_fn kKernels[] = {expertKernel<0>, expertKernel<1>, expertKernel<2>, expertKernel<3>,
                                         expertKernel<4>};

/// y = x + the weights of the experts that input 1 chooses.
template <bool fails>
int32_t step(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  for (uint32_t e = 0; e < kExperts; ++e) {
    const sluice_slot from = e == 0 ? inputSlot(kBytes) : arenaSlot(0, (e % 2) * kRange, kBytes);
    const sluice_slot to = e + 1 == kExperts ? outputSlot(kBytes) : arenaSlot(0, ((e + 1) % 2) * kRange, kBytes);
    issue.launch(kCompute, fails && e == 1 ? failingKernel : kKernels[e],
                 {inputSlot(kExperts, 1), from, slot(0, SLUICE_SEGMENT_PARAMETER, e * kRange, kBytes), to}, {}, e);
  }
  return issue.failed;
}

/// As step(), with the experts in another order than that of their numbers, in which they are read ahead.
int32_t scatteredStep(const sluice_api *api, sluice_context *context) {
  constexpr uint32_t kOrder[kExperts] = {3, 1, 4, 0, 2};
  Issuer issue{api, context};
  for (uint32_t i = 0; i < kExperts; ++i) {
    const uint32_t e = kOrder[i];
    const sluice_slot from = i == 0 ? inputSlot(kBytes) : arenaSlot(0, (i % 2) * kRange, kBytes);
    const sluice_slot to = i + 1 == kExperts ? outputSlot(kBytes) : arenaSlot(0, ((i + 1) % 2) * kRange, kBytes);
    issue.launch(kCompute, kKernels[e],
                 {inputSlot(kExperts, 1), from, slot(0, SLUICE_SEGMENT_PARAMETER, e * kRange, kBytes), to}, {}, e);
  }
  return issue.failed;
}

class ExpertModel : public TestModel {
public:
  explicit ExpertModel(uint32_t slots, TestModel::Program program = step<false>)
      : TestModel(program, kFloats, 0, 2 * kRange) {
    inputs.push_back(
        {sizeof(sluice_tensor_desc), "mask", 2, 1, maskShape, kExperts, nullptr, nullptr, 0, nullptr, nullptr});
    memories.push_back({sizeof(sluice_memory_desc), "disk", 0, INT64_MAX, SLUICE_MEMORY_FILE});
    links.push_back({sizeof(sluice_link_desc), 0, kDisk, 1e9, 1.5e9, 1000, 0});
    for (uint32_t e = 0; e < kExperts; ++e)
      table.push_back({sizeof(sluice_expert_desc), e, 0, 0, e, e * kRange, kBytes});
    model.parameter_bytes = kRange * (kExperts - 1) + kBytes;
    model.expert_slots = slots;
  }

  const sluice_model &withExperts() {
    get();
    model.num_ops = kExperts + 1, model.op_names = kNames;
    model.num_experts = static_cast<uint32_t>(table.size()), model.experts = table.data();
    return model;
  }

  Result<std::unique_ptr<Executor>> create(const std::string &path, const volatile unsigned char *stop = nullptr) {
    withExperts();
    sluice_options options{};
    options.size = sizeof options;
    options.threads = 2;
    options.stop = stop;
    // What is mapped is wrong: weights come from the file.
    mapped.assign(static_cast<size_t>(model.parameter_bytes), 0x7f);
    return Executor::create(&model, nullptr, {path.empty() ? linked.data() : mapped.data(), path}, options);
  }

  const int64_t maskShape[1] = {kExperts};
  std::vector<sluice_expert_desc> table;
  std::vector<char> mapped, linked = parameters();
};

using Mask = std::array<unsigned char, kExperts>;

Status run(Executor &executor, const Mask &mask, std::vector<float> &y) {
  const std::vector<float> x(kFloats, 0.5f);
  const void *inputs[] = {x.data(), mask.data()};
  void *outputs[] = {y.data()};
  return executor.step(inputs, outputs);
}

void check(const Mask &mask, const std::vector<float> &y) {
  for (int64_t i = 0; i < kFloats; ++i) {
    float expected = 0.5f;
    for (uint32_t e = 0; e < kExperts; ++e)
      expected = mask[e] ? expected + weightOf(e, i) : expected;
    REQUIRE(y[static_cast<size_t>(i)] == expected);
  }
}

std::string textOf(const Status &status) { return status ? "" : status.error(); }

std::string writeParameters(const Directory &directory) {
  const std::vector<char> bytes = parameters();
  const fs::path path = directory.path / "parameters";
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

sluice_expert_stats figuresOf(const Executor &executor) {
  sluice_expert_stats stats{};
  executor.expertStats(stats);
  return stats;
}

} // namespace

TEST_CASE("experts that a step chooses are read into slots", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  const uint32_t slots = GENERATE(1, 2, 3, 5);
  ExpertModel model(slots);
  SECTION("at the disk's own rate") {}
  SECTION("over a throttled link") { model.links[0].throttle = 1; }
  auto executor = model.create(path);
  INFO((executor ? "" : executor.error()));
  REQUIRE(executor);
  std::minstd_rand random(slots);
  std::vector<uint32_t> uses;
  std::vector<float> y(kFloats);
  for (int token = 0; token < 40; ++token) {
    Mask mask{};
    for (unsigned char &each : mask)
      each = random() % 3 == 0;
    const Status status = run(**executor, mask, y);
    INFO(textOf(status));
    REQUIRE(status);
    check(mask, y);
    for (uint32_t e = 0; e < kExperts; ++e)
      if (mask[e])
        uses.push_back(e);
  }
  const sluice_expert_stats stats = figuresOf(**executor);
  CHECK(stats.experts == kExperts);
  CHECK(stats.slots == slots);
  CHECK(stats.uses == static_cast<int64_t>(uses.size()));
  CHECK(stats.recorded_uses == stats.uses);
  CHECK(stats.recorded_hits == stats.hits);
  CHECK(stats.best_hits == mostHits(uses, slots));
  CHECK(stats.hits <= stats.best_hits);
  CHECK(stats.bytes_read == (stats.uses - stats.hits) * kBytes);
  // Where all have a slot, each is read once.
  if (slots == kExperts)
    CHECK(stats.uses - stats.hits == kExperts);
}

TEST_CASE("experts may run in any order with any number of slots", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  const uint32_t slots = GENERATE(1, 2, 3, 4, 5);
  ExpertModel model(slots, scatteredStep);
  auto executor = model.create(path);
  REQUIRE(executor);
  std::vector<float> y(kFloats);
  for (unsigned bits = 0; bits < 1u << kExperts; ++bits) {
    Mask mask{};
    for (uint32_t e = 0; e < kExperts; ++e)
      mask[e] = bits >> e & 1;
    REQUIRE(run(**executor, mask, y));
    check(mask, y);
  }
}

TEST_CASE("experts that an application links are used where they are", "[runtime][experts]") {
  ExpertModel model(1);
  auto executor = model.create("");
  REQUIRE(executor);
  std::vector<float> y(kFloats);
  const Mask mask{1, 0, 1, 1, 0};
  REQUIRE(run(**executor, mask, y));
  check(mask, y);
  CHECK(figuresOf(**executor).slots == 0);
}

TEST_CASE("a step whose experts cannot be read fails, and names operator and file", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  ExpertModel model(2);
  auto executor = model.create(path);
  REQUIRE(executor);
  std::vector<float> y(kFloats);
  REQUIRE(run(**executor, {1, 1, 0, 0, 0}, y));
  SECTION("shortened") {
    fs::resize_file(path, 3 * kRange);
    CHECK_THAT(textOf(run(**executor, {0, 0, 0, 1, 1}, y)), Contains("weights of operator 'e3' cannot be read") &&
                                                                Contains("'" + path + "'") && Contains("shortened"));
    // What was there stays usable, and still the file is another one.
    CHECK_THAT(textOf(run(**executor, {1, 1, 0, 0, 0}, y)), Contains("was changed"));
  }
  SECTION("changed, though all weights are in slots") {
    fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds(5));
    CHECK_THAT(textOf(run(**executor, {1, 1, 0, 0, 0}, y)), Contains("'" + path + "' was changed"));
  }
}

TEST_CASE("a step that fails or is stopped holds no experts afterwards", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  unsigned char stop = 0;
  ExpertModel model(3, step<true>);
  auto executor = model.create(path, &stop);
  REQUIRE(executor);
  std::vector<float> y(kFloats);
  for (int i = 0; i < 3; ++i)
    CHECK_THAT(textOf(run(**executor, {1, 1, 1, 1, 1}, y)), Contains("operator 'e1' failed with code 7"));
  stop = 1;
  CHECK_THAT(textOf(run(**executor, {1, 0, 0, 0, 0}, y)), Contains("the step was stopped"));
  stop = 0;
  for (int i = 0; i < 3; ++i)
    CHECK(run(**executor, {1, 0, 1, 1, 1}, y));
}

TEST_CASE("a model whose experts contradict each other is refused", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  auto errorOf = [&](auto change) {
    ExpertModel model(2);
    change(model);
    auto executor = model.create(path);
    return executor ? std::string() : executor.error();
  };
  CHECK(errorOf([](ExpertModel &) {}).empty());
  CHECK_THAT(errorOf([](ExpertModel &m) { m.model.expert_slots = 0; }), Contains("0 slots for 5 experts"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.table.clear(); }), Contains("2 slots for experts and no experts"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.table[1].op = 0; }),
             Contains("expert 1 of model 'test' has no operator of its own"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.table[1].op = 99; }),
             Contains("expert 1 of model 'test' has no operator of its own"));
  CHECK_THAT(errorOf([](ExpertModel &m) { std::swap(m.table[1], m.table[2]); }),
             Contains("is not in the order of groups and elements"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.table[4].bytes = kBytes + 1; }), Contains("expert 'e4' has 6001 bytes"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.table[2].offset = 64; }), Contains("expert 'e2'"));
  CHECK_THAT(errorOf([](ExpertModel &m) { m.memories.pop_back(), m.links.clear(); }),
             Contains("no memory of kind file"));
  // Found when the step is issued.
  ExpertModel model(2);
  model.table[3].mask = 17;
  auto executor = model.create(path);
  REQUIRE(executor);
  std::vector<float> y(kFloats);
  CHECK_THAT(textOf(run(**executor, {1, 0, 0, 0, 0}, y)),
             Contains("operator 'e3'") && Contains("has no mask for its whole group"));
}

// Sanitizers have their own operators new and delete.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("an expert whose reads could not be queued is not taken for read", "[runtime][experts]") {
  Directory directory;
  const std::string path = writeParameters(directory);
  ExpertModel experts(1);
  auto model = readModel(&experts.withExperts());
  REQUIRE(model);
  auto file = BackingFile::open(path);
  REQUIRE(file);
  auto pool = ExpertPool::create(*model, **file, nullptr, kDisk);
  REQUIRE(pool);
  const unsigned char all[kExperts] = {1, 1, 1, 1, 1};
  (*pool)->lookAhead(0, all); // Starts the threads.
  (*pool)->endStep();
  int refused = 0;
  // The queue asks for memory once in many reads.
  for (uint32_t use = 0; use < 200; ++use) {
    const uint32_t expert = use % kExperts;
    bool isRefused = false;
    refusesMemory = true;
    try {
      (*pool)->lookAhead(expert, all);
    } catch (const std::bad_alloc &) {
      isRefused = true;
    }
    refusesMemory = false;
    refused += isRefused;
    if (isRefused && use % 2 == 0)
      (*pool)->endStep();
    auto weights = (*pool)->take(expert);
    if (weights) {
      float first;
      std::memcpy(&first, *weights, sizeof first);
      CHECK(first == weightOf(expert, 0));
      (*pool)->release(expert);
    } else {
      CHECK(isRefused);
      CHECK(weights.error() == "the system gave no more memory to read experts, give the process more memory");
    }
    (*pool)->endStep();
  }
  CHECK(refused > 0);
}
#endif
