//===- FileTierTest.cpp - Models that read and write files ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "BackingFile.h"
#include "Executor.h"
#include "TestModel.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdlib.h>
#include <sys/resource.h>

using namespace sluice::runtime;
using namespace sluice::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

/// A directory that goes away, on a disk where the system has one for temporary files.
class Directory {
public:
  Directory() {
    std::string pattern = "/var/tmp/sluice-file-XXXXXX";
    if (!mkdtemp(pattern.data())) {
      pattern = (fs::temp_directory_path() / "sluice-file-XXXXXX").string();
      REQUIRE(mkdtemp(pattern.data()));
    }
    path = pattern;
  }
  ~Directory() { fs::remove_all(path); }
  fs::path path;
};

/// Bytes of which no two blocks are equal.
std::vector<char> someBytes(size_t count) {
  std::vector<char> bytes(count);
  uint32_t state = 1;
  for (char &byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::string writeFile(const fs::path &path, const std::vector<char> &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

struct Free {
  void operator()(char *memory) const { std::free(memory); }
};
std::unique_ptr<char, Free> blocks(size_t bytes) {
  std::unique_ptr<char, Free> memory(static_cast<char *>(std::aligned_alloc(kBlockBytes, bytes)));
  std::memset(memory.get(), 0x55, bytes);
  return memory;
}

std::string textOf(const Status &status) { return status ? "" : status.error(); }

} // namespace

TEST_CASE("a file is read at any offset to any address", "[runtime][file]") {
  Directory directory;
  const std::vector<char> bytes = someBytes((3 << 20) + 777);
  auto file = BackingFile::open(writeFile(directory.path / "data", bytes));
  REQUIRE(file);
  CHECK((*file)->bytes() == static_cast<int64_t>(bytes.size()));
  constexpr size_t kRoom = 4 << 20;
  auto memory = blocks(kRoom);
  const int64_t size = static_cast<int64_t>(bytes.size());
  for (const int64_t offset : {int64_t(0), int64_t(4096), int64_t(64), int64_t(4095), int64_t(1 << 20), size - 777})
    for (const int64_t length : {int64_t(0), int64_t(1), int64_t(64), int64_t(4096), int64_t(5000), int64_t(1 << 20),
                                 int64_t((1 << 20) + 100), size})
      for (const int64_t at : {int64_t(0), int64_t(64)})
        for (const bool hasRoom : {false, true}) {
          const int64_t count = std::min(length, size - offset);
          INFO("offset " << offset << ", " << count << " bytes to " << at << (hasRoom ? ", room behind" : ""));
          std::memset(memory.get(), 0x55, kRoom);
          REQUIRE((*file)->read(memory.get() + at, hasRoom ? int64_t(kRoom) - at : count, offset, count));
          REQUIRE(std::memcmp(memory.get() + at, bytes.data() + offset, static_cast<size_t>(count)) == 0);
          // What lies behind is another tensor's.
          if (!hasRoom)
            REQUIRE(memory.get()[at + count] == 0x55);
        }
  CHECK_THAT(textOf((*file)->read(memory.get(), kRoom, size - 10, 11)), Contains("cannot read 11 bytes"));
}

TEST_CASE("what is written to a file without a name is read back", "[runtime][file]") {
  Directory directory;
  auto file = BackingFile::create(directory.path.string(), 3 << 20, "disk");
  REQUIRE(file);
  CHECK(fs::is_empty(directory.path));
  // Writes of parts of blocks leave what is around them.
  std::vector<char> expected(3 << 20);
  const std::vector<char> source = someBytes(2 << 20);
  auto memory = blocks(3 << 20);
  int64_t seed = 7;
  for (int i = 0; i < 60; ++i) {
    seed = (seed * 48271) % 2147483647;
    const int64_t offset = seed % (2 << 20) / 64 * 64, length = seed % 300'000;
    const int64_t at = i % 3 == 0 ? 64 : 0;
    std::memcpy(memory.get() + at, source.data() + i, static_cast<size_t>(length));
    REQUIRE((*file)->write(memory.get() + at, length, i % 2 ? offset : offset / 4096 * 4096, length));
    std::memcpy(expected.data() + (i % 2 ? offset : offset / 4096 * 4096), source.data() + i,
                static_cast<size_t>(length));
  }
  REQUIRE((*file)->read(memory.get(), 3 << 20, 0, 3 << 20));
  CHECK(std::memcmp(memory.get(), expected.data(), expected.size()) == 0);
}

TEST_CASE("a file that is missing, shortened or changed is an error that names it", "[runtime][file]") {
  Directory directory;
  CHECK_THAT(BackingFile::open((directory.path / "none").string()).error(), Contains("none") && Contains("sluice"));
  const std::string path = writeFile(directory.path / "data", someBytes(64 << 10));
  auto file = BackingFile::open(path);
  REQUIRE(file);
  CHECK((*file)->checkUnchanged());
  auto memory = blocks(64 << 10);
  fs::resize_file(path, 10'000);
  CHECK((*file)->read(memory.get(), 64 << 10, 0, 8192));
  CHECK_THAT(textOf((*file)->read(memory.get(), 64 << 10, 4096, 32 << 10)),
             Contains("'" + path + "'") && Contains("bytes while the model runs"));
  CHECK_THAT(textOf((*file)->checkUnchanged()), Contains("'" + path + "' was changed") && Contains("10000"));
  // The same bytes at another time are another version.
  const std::string other = writeFile(directory.path / "other", someBytes(4096));
  file = BackingFile::open(other);
  REQUIRE(file);
  fs::last_write_time(other, fs::file_time_type::clock::now() + std::chrono::seconds(5));
  CHECK_THAT(textOf((*file)->checkUnchanged()), Contains("was changed"));
}

TEST_CASE("a disk without room is an error before anything runs", "[runtime][file]") {
  Directory directory;
  CHECK_THAT(BackingFile::create((directory.path / "none").string(), 4096, "disk").error(),
             Contains("memory 'disk'") && Contains("none"));
  // A limit of the size of files stands for a disk that is full.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto *const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  auto file = BackingFile::create(directory.path.string(), 8 << 20, "disk");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  REQUIRE_FALSE(file);
  CHECK_THAT(file.error(), Contains("8388608 bytes for memory 'disk'") && Contains("allows files of this size"));
  CHECK(fs::is_empty(directory.path));
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t kFloats = 2048, kBytes = kFloats * 4; ///< Two blocks.
constexpr uint32_t kDisk = 1, kHostCompute = streamOf(0, SLUICE_STREAM_COMPUTE), kFileIn = 3, kFileOut = 4;

/// y = x + w.
int32_t addKernel(const sluice_kernel_env *, void **args) {
  for (int64_t i = 0; i < kFloats; ++i)
    static_cast<float *>(args[2])[i] = static_cast<const float *>(args[0])[i] + static_cast<const float *>(args[1])[i];
  return 0;
}

sluice_slot parameterSlot(int64_t offset) { return slot(kDisk, SLUICE_SEGMENT_PARAMETER, offset, kBytes); }

/// The host's arena holds three tensors. The first parameter stays there, two more come from the file through one slot,
/// and the first sum goes to the file and comes back.
int32_t streamingStep(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const sluice_slot kept = arenaSlot(0, 0, kBytes), w = arenaSlot(0, kBytes, kBytes),
                    sum = arenaSlot(0, 2 * kBytes, kBytes);
  const sluice_slot saved = arenaSlot(kDisk, 0, kBytes);
  const uint32_t first = issue.launch(kHostCompute, addKernel, {inputSlot(kBytes), kept, sum});
  const uint32_t out = issue.copy(kFileOut, saved, sum, {first});
  const uint32_t read = issue.copy(kFileIn, w, parameterSlot(kBytes));
  const uint32_t second = issue.launch(kHostCompute, addKernel, {inputSlot(kBytes), w, sum}, {read, out});
  const uint32_t again = issue.copy(kFileIn, w, parameterSlot(2 * kBytes), {second});
  const uint32_t third = issue.launch(kHostCompute, addKernel, {sum, w, outputSlot(kBytes)}, {again});
  const uint32_t back = issue.copy(kFileIn, w, saved, {third, out});
  issue.launch(kHostCompute,
               [](const sluice_kernel_env *, void **args) -> int32_t {
                 for (int64_t i = 0; i < kFloats; ++i)
                   static_cast<float *>(args[1])[i] += static_cast<const float *>(args[0])[i];
                 return 0;
               },
               {w, outputSlot(kBytes)}, {back});
  return issue.failed;
}

TestModel streamingModel(TestModel::Program step = streamingStep) {
  TestModel model(step, kFloats, 0, 3 * kBytes);
  model.memories.push_back({sizeof(sluice_memory_desc), "disk", kBytes, INT64_MAX, SLUICE_MEMORY_FILE});
  model.links.push_back({sizeof(sluice_link_desc), 0, kDisk, 1e9, 1.5e9, 1000, 0});
  model.streams.push_back({sizeof(sluice_stream_desc), 0, SLUICE_STREAM_FILE_IN});
  model.streams.push_back({sizeof(sluice_stream_desc), 0, SLUICE_STREAM_FILE_OUT});
  model.model.parameter_bytes = 3 * kBytes;
  model.model.planned_bytes_read = 3 * kBytes;
  model.model.planned_bytes_written = kBytes;
  model.model.init = [](const sluice_api *api, sluice_context *context) {
    Issuer issue{api, context};
    issue.copy(kFileIn, arenaSlot(0, 0, kBytes), parameterSlot(0));
    return issue.failed;
  };
  return model;
}

std::vector<char> weights() {
  std::vector<char> bytes(3 * kBytes);
  for (int64_t i = 0; i < 3 * kFloats; ++i) {
    const float value = static_cast<float>(i % kFloats + 10'000 * (i / kFloats));
    std::memcpy(bytes.data() + 4 * i, &value, 4);
  }
  return bytes;
}

Result<std::unique_ptr<Executor>> create(TestModel &model, const ParameterSource &source, const char *directory) {
  sluice_options options{};
  options.size = sizeof options;
  options.threads = 2;
  options.spill_directory = directory;
  return Executor::create(model.get(), nullptr, source, options);
}

Status runStep(Executor &executor, const std::vector<float> &x, std::vector<float> &y) {
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  return executor.step(inputs, outputs);
}

void checkStep(const std::vector<float> &x, const std::vector<float> &y) {
  // (x + w1) + w2, and (x + w0).
  for (int64_t i = 0; i < kFloats; ++i) {
    const auto w = static_cast<float>(i);
    REQUIRE(y[i] == x[i] + (w + 10'000) + (w + 20'000) + (x[i] + w));
  }
}

} // namespace

TEST_CASE("parameters stream from a file, and sums go to one and back", "[runtime][file]") {
  Directory directory;
  const std::string path = writeFile(directory.path / "parameters", weights());
  TestModel model = streamingModel();
  SECTION("at the disk's own rate") {}
  SECTION("over a throttled link") {
    model.links[0].throttle = 1;
    model.links[0].bytes_per_sec = 2e8, model.links[0].duplex_bytes_per_sec = 2e8;
  }
  auto executor = create(model, {nullptr, path}, directory.path.c_str());
  INFO((executor ? "" : executor.error()));
  REQUIRE(executor);
  std::vector<float> x(kFloats), y(kFloats);
  std::iota(x.begin(), x.end(), 1.0f);
  for (int step = 0; step < 20; ++step) {
    std::fill(y.begin(), y.end(), 0.0f);
    const Status status = runStep(**executor, x, y);
    INFO(textOf(status));
    REQUIRE(status);
    checkStep(x, y);
  }
  sluice_stats stats{};
  (*executor)->stats(stats);
  CHECK(stats.bytes_read == 3 * kBytes);
  CHECK(stats.bytes_written == kBytes);
  CHECK(stats.planned_bytes_read == stats.bytes_read);
  CHECK(stats.planned_bytes_written == stats.bytes_written);
  CHECK(stats.init_bytes_read == kBytes);
  CHECK(stats.bytes_in == 0);
  CHECK(stats.bytes_out == 0);
  CHECK(stats.arena_peak_bytes[0] == 3 * kBytes);
  CHECK(stats.arena_peak_bytes[kDisk] == kBytes);
  // Nothing but the parameters has a name.
  CHECK(std::distance(fs::directory_iterator(directory.path), fs::directory_iterator()) == 1);
}

TEST_CASE("parameters that an application links are copied from its memory", "[runtime][file]") {
  TestModel model = streamingModel();
  const std::vector<char> bytes = weights();
  auto executor = create(model, {bytes.data(), {}}, nullptr);
  REQUIRE(executor);
  std::vector<float> x(kFloats, 2.0f), y(kFloats);
  REQUIRE(runStep(**executor, x, y));
  checkStep(x, y);
}

TEST_CASE("a step whose parameter file is shortened or changed fails", "[runtime][file]") {
  Directory directory;
  const std::string path = writeFile(directory.path / "parameters", weights());
  TestModel model = streamingModel();
  auto executor = create(model, {nullptr, path}, directory.path.c_str());
  REQUIRE(executor);
  std::vector<float> x(kFloats, 1.0f), y(kFloats);
  REQUIRE(runStep(**executor, x, y));
  SECTION("shortened: the error names the tensor and the file") {
    fs::resize_file(path, 2 * kBytes);
    CHECK_THAT(textOf(runStep(**executor, x, y)),
               Contains("copy of tensor 't0' failed") && Contains("'" + path + "'") && Contains("shortened"));
  }
  SECTION("changed: what was read may be of two versions") {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).put('x');
    fs::last_write_time(path, fs::file_time_type::clock::now() + std::chrono::seconds(5));
    CHECK_THAT(textOf(runStep(**executor, x, y)), Contains("'" + path + "' was changed"));
  }
}

TEST_CASE("a step that is stopped copies no more", "[runtime][file]") {
  Directory directory;
  const std::string path = writeFile(directory.path / "parameters", weights());
  TestModel model = streamingModel();
  unsigned char stop = 0;
  sluice_options options{};
  options.size = sizeof options;
  options.threads = 2;
  options.stop = &stop;
  auto executor = Executor::create(model.get(), nullptr, {nullptr, path}, options);
  REQUIRE(executor);
  std::vector<float> x(kFloats), y(kFloats);
  REQUIRE(runStep(**executor, x, y));
  stop = 1;
  CHECK_THAT(textOf(runStep(**executor, x, y)), Contains("copy of tensor 't0' failed: the step was stopped"));
  stop = 0;
  REQUIRE(runStep(**executor, x, y));
  checkStep(x, y);
}

TEST_CASE("a model that misuses a file is refused", "[runtime][file]") {
  Directory directory;
  const std::string path = writeFile(directory.path / "parameters", weights());
  std::vector<float> x(kFloats), y(kFloats);
  auto errorOf = [&](TestModel::Program step) {
    TestModel model = streamingModel(step);
    auto executor = create(model, {nullptr, path}, directory.path.c_str());
    REQUIRE(executor);
    return textOf(runStep(**executor, x, y));
  };
  CHECK_THAT(errorOf([](const sluice_api *api, sluice_context *context) {
               Issuer issue{api, context};
               issue.copy(kFileOut, arenaSlot(0, 0, kBytes), parameterSlot(0));
               return issue.failed;
             }),
             Contains("a stream that does not read files"));
  CHECK_THAT(errorOf([](const sluice_api *api, sluice_context *context) {
               Issuer issue{api, context};
               issue.copy(kFileIn, arenaSlot(0, 0, kBytes), parameterSlot(2 * kBytes + 64));
               return issue.failed;
             }),
             Contains("the parameters in the file 'disk'"));
  CHECK_THAT(errorOf([](const sluice_api *api, sluice_context *context) {
               Issuer issue{api, context};
               issue.copy(kFileOut, arenaSlot(kDisk, 4096, kBytes), arenaSlot(0, 0, kBytes));
               return issue.failed;
             }),
             Contains("the arena of the file 'disk'"));
  CHECK_THAT(errorOf([](const sluice_api *api, sluice_context *context) {
               Issuer issue{api, context};
               issue.launch(kHostCompute, addKernel, {inputSlot(kBytes), parameterSlot(0), outputSlot(kBytes)});
               return issue.failed;
             }),
             Contains("the file 'disk'"));
  TestModel model = streamingModel();
  model.memories[0].kind = SLUICE_MEMORY_FILE;
  CHECK_THAT(create(model, {nullptr, path}, nullptr).error(),
             Contains("'host' has kind 1, which the host's memory cannot have"));
  fs::resize_file(path, 100);
  model = streamingModel();
  CHECK_THAT(create(model, {nullptr, path}, nullptr).error(), Contains("has 100 bytes"));
}
