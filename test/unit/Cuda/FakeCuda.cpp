//===- FakeCuda.cpp - A driver without a GPU --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"
#include "FakeCollectives.h"

#include "lib/Runtime/GridFibers.h"
#include "lib/Runtime/ThreadPool.h"
#include "sluice/Runtime/abi.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidPtx = 218, kNotFound = 500, kIllegalAddress = 700;
constexpr int kNotReady = 600, kLaunchFailed = 719, kCaptureUnsupported = 900, kCaptureUnjoined = 904;
/// Makes of a host address one that nothing is mapped at.
constexpr unsigned long long kDeviceBit = 1ull << 62;

/// What was captured, in that order; each behind those that it follows.
struct Graph {
  struct Node {
    std::string what;
    std::function<void()> work;
    std::set<size_t> behind;
  };
  std::vector<Node> nodes;
};
struct Capture {
  Graph graph;
  std::set<size_t> unjoined; ///< Nodes that nothing is behind yet.
};
struct Stream {
  int number;
  std::deque<std::function<bool()>> work; ///< False: not yet, ask again.
  std::shared_ptr<Capture> capture = {};  ///< Null: it works.
  std::set<size_t> last = {};             ///< What the next captured node is behind.
};
struct Event {
  std::shared_ptr<Capture> capture = {};
  std::set<size_t> captured = {};
  Stream *stream = nullptr;
  bool isPast = true;
  std::chrono::steady_clock::time_point passed;
};
/// A kernel: its first parameters are addresses, the others numbers.
struct Entry {
  sluice_grid grid;
  uint32_t numAddresses;
};
struct Module {
  std::map<std::string, Entry> functions;
};
struct Function {
  std::string name;
  Entry entry;
  HostForm form; ///< Of the runtime's own, which takes parameters as they are.
};

struct Fake {
  std::recursive_mutex mutex;
  int architecture = 80;
  long bytesLeft = 1l << 33;
  int gpus = 1;
  std::string failing;
  int failFrom = 0, failResult = 0;
  bool isSticky = false, isLost = false, isOnce = false;
  /// With a tick, events tell a clock that each command moves by so much.
  std::chrono::nanoseconds tick{0};
  std::chrono::steady_clock::time_point clock;
  std::string log;
  int held = 0, numStreams = 0;
  Stream defaultStream{0, {}};
  std::map<unsigned long long, size_t> allocations;
  std::map<const char *, size_t> pinned; ///< Of the host.
  std::set<Stream *> streams;
  int numCapturing = 0;
  std::deque<Function> functions;
  sluice::runtime::ThreadPool pool{2};
};

Fake &fake() {
  static Fake instance;
  return instance;
}

using Lock = std::lock_guard<std::recursive_mutex>;

/// What a call is to return instead of doing what it does.
int fails(const char *function) {
  Fake &f = fake();
  if (f.isLost)
    return f.failResult;
  if (f.failing != function || f.failFrom-- > 0)
    return 0;
  f.isLost = f.isSticky;
  f.failFrom = 0;
  if (f.isOnce)
    f.failing.clear();
  if (f.failResult == kFakeCudaThrows)
    throw std::bad_alloc();
  return f.failResult;
}

void takeTime() { fake().clock += fake().tick; }

void note(const std::string &line) { fake().log += line + "\n"; }

Stream &streamOf(void *stream) { return stream ? *static_cast<Stream *>(stream) : fake().defaultStream; }

char *host(unsigned long long pointer) { return reinterpret_cast<char *>(pointer & ~kDeviceBit); }

/// Whether [pointer, pointer + bytes) is within one allocation.
bool isDevice(unsigned long long pointer, size_t bytes) {
  auto after = fake().allocations.upper_bound(pointer);
  if (after == fake().allocations.begin())
    return false;
  auto [base, size] = *std::prev(after);
  return pointer + bytes <= base + size;
}

/// As far as it comes: true where nothing is left.
bool drain(Stream &stream) {
  while (!stream.work.empty() && !fake().isLost && stream.work.front()())
    stream.work.pop_front();
  return stream.work.empty() || fake().isLost;
}

/// Asks again and again, while other threads may come in.
template <typename Done>
void waitUntil(const Done &done) {
  for (;;) {
    {
      Lock lock(fake().mutex);
      if (done())
        return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// As drivers do: what would disturb a capture fails, and what is captured is not done.
int failsInCapture() { return fake().numCapturing > 0 ? kCaptureUnsupported : 0; }

bool isPinned(const void *address, size_t bytes) {
  const auto *first = static_cast<const char *>(address);
  auto after = fake().pinned.upper_bound(first);
  if (after == fake().pinned.begin())
    return false;
  auto [base, size] = *std::prev(after);
  return first + bytes <= base + size;
}

/// Copies of pageable memory are not to be captured: when they read it is open.
int checkHost(void *stream, const void *address, size_t bytes) {
  return streamOf(stream).capture && !isPinned(address, bytes) ? kCaptureUnsupported : 0;
}

/// Of a stream that works.
int enqueueUntil(Stream &on, const std::string &what, std::function<bool()> work) {
  on.work.push_back([=, &on] {
    if (!work())
      return false;
    takeTime();
    note(what + " stream " + std::to_string(on.number));
    return true;
  });
  return 0;
}

int enqueue(void *stream, const std::string &what, std::function<void()> work) {
  Stream &on = streamOf(stream);
  if (on.capture) {
    Capture &capture = *on.capture;
    const size_t number = capture.graph.nodes.size();
    for (size_t before : on.last)
      capture.unjoined.erase(before);
    capture.graph.nodes.push_back({what, std::move(work), on.last});
    capture.unjoined.insert(number);
    on.last = {number};
    return 0;
  }
  return enqueueUntil(on, what, [=] {
    work();
    return true;
  });
}

/// "NAME ADDRESS" lines. Returns what is wrong.
std::string loadAddresses(const std::string &text, Module &module) {
  std::istringstream lines(text);
  std::string name;
  unsigned long long address = 0;
  while (lines >> name >> std::hex >> address) {
    Entry &entry = module.functions[name];
    entry = {};
    sluice_grid &grid = entry.grid;
    grid.num_args = entry.numAddresses = 2;
    grid.thread = reinterpret_cast<sluice_thread_fn>(address);
  }
  return module.functions.empty() ? "line 1: syntax error" : "";
}

/// The entries of a text of PTX, each with its host form, which is in the library that the text is in.
std::string loadPtx(const void *image, const std::string &text, Module &module) {
  static const std::regex target("\\.target\\s+sm_(\\d+)"), threads("\\.maxntid\\s+(\\d+)"),
      entry("\\.visible\\s+\\.entry\\s+(\\w+)\\(([^)]*)\\)([^{]*)");
  std::smatch found;
  if (!std::regex_search(text, found, target) || std::stoi(found[1]) > fake().architecture)
    return "no .target of this GPU or an older one";
  Dl_info where{};
  void *library = dladdr(image, &where) ? dlopen(where.dli_fname, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  auto *grids = library ? static_cast<const sluice_grid *const *>(dlsym(library, SLUICE_GRID_TABLE)) : nullptr;
  if (library)
    dlclose(library); // Whose code it is keeps it open.
  static const std::regex own("\\.entry\\s+(sluice_(combine|rows|fill)_\\w+)\\(");
  for (std::sregex_iterator it(text.begin(), text.end(), own), end; it != end; ++it)
    if (findHostForm((*it)[1]))
      module.functions[(*it)[1]] = {};
  if (!module.functions.empty())
    return "";
  if (!grids || !*grids || !(*grids)->thread)
    return "compiled without --target cuda:emulated, which a driver without a GPU runs";
  std::map<std::string, const sluice_grid *> byName;
  for (; *grids; ++grids)
    byName[(*grids)->name] = *grids;
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    std::string name = (*it)[1], parameters = (*it)[2], performance = (*it)[3];
    auto countOf = [&](const char *word) {
      uint32_t count = 0;
      for (size_t at = 0; (at = parameters.find(word, at)) != std::string::npos; ++at)
        ++count;
      return count;
    };
    const uint32_t count = countOf(".param ");
    const sluice_grid *grid = byName[name];
    if (!grid || count != grid->num_args || !std::regex_search(performance, found, threads) ||
        std::stoul(found[1]) != grid->threads)
      return "entry '" + name + "' is not the grid of that name";
    module.functions[name] = {*grid, countOf(".ptr ")};
  }
  return module.functions.empty() ? "no entry" : "";
}

} // namespace

int fakeCudaEnqueue(void *stream, const std::string &what, std::function<void()> work) {
  Lock lock(fake().mutex);
  return enqueue(stream, what, std::move(work));
}
bool fakeCudaHasStream(void *stream) {
  Lock lock(fake().mutex);
  return !stream || fake().streams.count(static_cast<Stream *>(stream)) != 0;
}
void fakeCudaTakeTime() {
  Lock lock(fake().mutex);
  takeTime();
}
int fakeCudaEnqueueUntil(void *stream, const std::string &what, std::function<bool()> work) {
  Lock lock(fake().mutex);
  Stream &on = streamOf(stream);
  return on.capture ? kCaptureUnsupported : enqueueUntil(on, what, std::move(work));
}
char *fakeCudaHost(const void *pointer, size_t bytes) {
  Lock lock(fake().mutex);
  auto address = reinterpret_cast<unsigned long long>(pointer);
  return isDevice(address, bytes) ? host(address) : nullptr;
}

#define FAKE_BEGIN(name)                                                                                               \
  Lock lock(fake().mutex);                                                                                             \
  if (int result = fails(name))                                                                                        \
  return result

extern "C" {

void fakeCudaReset(int architecture, long bytes) { fakeCudaResetTo(architecture, bytes, 1); }
void fakeCudaResetTo(int architecture, long bytes, int gpus) {
  Lock lock(fake().mutex);
  Fake &f = fake();
  f.architecture = architecture, f.bytesLeft = bytes, f.gpus = gpus;
  f.failing.clear(), f.log.clear(), f.functions.clear();
  f.isSticky = f.isLost = false;
  f.tick = {};
  f.held = f.numStreams = 0;
}
void fakeCudaFail(const char *function, int from, int result, int sticky) {
  Lock lock(fake().mutex);
  Fake &f = fake();
  f.failing = function, f.failFrom = from, f.failResult = result, f.isSticky = sticky != 0;
  f.isOnce = false;
}
void fakeCudaFailOnce(const char *function, int from, int result) {
  fakeCudaFail(function, from, result, 0);
  fake().isOnce = true;
}
void fakeCudaSet(const char *words) {
  static const std::regex word("(architecture|memory|gpus|tick)=(\\d+)|(fail|lost)=(\\w+):(\\d+):(-?\\d+)");
  std::istringstream in(words);
  fakeCudaReset(80, 1l << 33);
  for (std::string text; in >> text;) {
    std::smatch parts;
    if (!std::regex_match(text, parts, word)) {
      std::fprintf(stderr, "FAKE_CUDA: '%s' is not a word it knows\n", text.c_str());
      std::abort();
    }
    if (parts[1] == "architecture")
      fake().architecture = std::stoi(parts[2]);
    else if (parts[1] == "tick")
      fakeCudaTick(std::stol(parts[2]));
    else if (parts[1] == "gpus")
      fake().gpus = std::stoi(parts[2]);
    else if (parts[1] == "memory")
      fake().bytesLeft = std::stol(parts[2]);
    else
      fakeCudaFail(parts[4].str().c_str(), std::stoi(parts[5]), std::stoi(parts[6]), parts[3] == "lost");
  }
}
void fakeCudaTick(long ns) {
  Lock lock(fake().mutex);
  fake().tick = std::chrono::nanoseconds(ns);
}
const char *fakeCudaLog() { return fake().log.c_str(); }
int fakeCudaHeld() { return fake().held; }

int cuInit(unsigned) {
  if (const char *wanted = std::getenv("FAKE_CUDA"))
    fakeCudaSet(wanted);
  return 0;
}
int cuGetErrorName(int error, const char **text) {
  static const std::map<int, const char *> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"},     {218, "CUDA_ERROR_INVALID_PTX"},
      {500, "CUDA_ERROR_NOT_FOUND"},   {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  auto found = names.find(error);
  *text = found == names.end() ? nullptr : found->second;
  return found == names.end() ? kInvalidValue : 0;
}
int cuGetErrorString(int, const char **text) {
  *text = "as told";
  return 0;
}
int cuDeviceGetCount(int *count) {
  FAKE_BEGIN("cuDeviceGetCount");
  *count = fake().gpus;
  return 0;
}
int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return ordinal < fake().gpus ? 0 : kInvalidValue;
}
int cuDeviceGetUuid(char *uuid, int device) {
  FAKE_BEGIN("cuDeviceGetUuid");
  std::fill_n(uuid, 16, static_cast<char>('a' + device));
  return 0;
}
int cuDeviceGetName(char *name, int length, int) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU");
  return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = static_cast<size_t>(fake().bytesLeft);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  // Its major and minor number, multiprocessors, and kHz of their clock.
  *value = attribute == 75   ? fake().architecture / 10
           : attribute == 76 ? fake().architecture % 10
           : attribute == 16 ? 10
           : attribute == 13 ? 1'000'000
                             : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  FAKE_BEGIN("cuDevicePrimaryCtxRetain");
  ++fake().held;
  *context = &fake();
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  Lock lock(fake().mutex);
  --fake().held;
  return 0;
}
int cuCtxSetCurrent(void *context) {
  FAKE_BEGIN("cuCtxSetCurrent");
  return context == &fake() ? 0 : kInvalidValue;
}
int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes) {
  FAKE_BEGIN("cuMemAlloc_v2");
  if (int result = failsInCapture())
    return result;
  if (bytes > static_cast<size_t>(fake().bytesLeft))
    return kOutOfMemory;
  fake().bytesLeft -= static_cast<long>(bytes);
  *pointer = reinterpret_cast<unsigned long long>(std::aligned_alloc(256, (bytes + 255) / 256 * 256)) | kDeviceBit;
  std::memset(host(*pointer), 0xa5, bytes);
  fake().allocations[*pointer] = bytes;
  ++fake().held;
  return 0;
}
int cuMemFree_v2(unsigned long long pointer) {
  Lock lock(fake().mutex);
  fake().bytesLeft += static_cast<long>(fake().allocations.at(pointer));
  fake().allocations.erase(pointer);
  std::free(host(pointer));
  --fake().held;
  return 0;
}
int cuMemsetD8Async(unsigned long long pointer, unsigned char value, size_t bytes, void *stream) {
  FAKE_BEGIN("cuMemsetD8Async");
  if (!isDevice(pointer, bytes))
    return kInvalidValue;
  return enqueue(stream, "memset " + std::to_string(bytes), [=] { std::memset(host(pointer), value, bytes); });
}
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  FAKE_BEGIN("cuMemHostAlloc");
  if (int result = failsInCapture())
    return result;
  takeTime();
  *pointer = std::malloc(bytes);
  fake().pinned[static_cast<char *>(*pointer)] = bytes;
  ++fake().held;
  return 0;
}
int cuMemFreeHost(void *pointer) {
  Lock lock(fake().mutex);
  fake().pinned.erase(static_cast<char *>(pointer));
  std::free(pointer);
  --fake().held;
  return 0;
}
int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned) {
  FAKE_BEGIN("cuMemHostRegister_v2");
  if (int result = failsInCapture())
    return result;
  fake().pinned[static_cast<char *>(pointer)] = bytes;
  ++fake().held;
  return 0;
}
int cuMemHostUnregister(void *pointer) {
  Lock lock(fake().mutex);
  fake().pinned.erase(static_cast<char *>(pointer));
  --fake().held;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  FAKE_BEGIN("cuMemcpyHtoDAsync_v2");
  if (!isDevice(to, bytes))
    return kInvalidValue;
  if (int result = checkHost(stream, from, bytes))
    return result;
  return enqueue(stream, "HtoD " + std::to_string(bytes), [=] { std::memcpy(host(to), from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  FAKE_BEGIN("cuMemcpyDtoHAsync_v2");
  if (!isDevice(from, bytes))
    return kInvalidValue;
  if (int result = checkHost(stream, to, bytes))
    return result;
  return enqueue(stream, "DtoH " + std::to_string(bytes), [=] { std::memcpy(to, host(from), bytes); });
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
  FAKE_BEGIN("cuMemcpyDtoDAsync_v2");
  if (!isDevice(to, bytes) || !isDevice(from, bytes))
    return kInvalidValue;
  return enqueue(stream, "DtoD " + std::to_string(bytes), [=] { std::memmove(host(to), host(from), bytes); });
}
int cuStreamCreate(void **stream, unsigned) {
  FAKE_BEGIN("cuStreamCreate");
  auto *made = new Stream{++fake().numStreams, {}};
  fake().streams.insert(made);
  *stream = made;
  ++fake().held;
  return 0;
}
int cuStreamDestroy_v2(void *stream) {
  Lock lock(fake().mutex);
  fake().streams.erase(static_cast<Stream *>(stream));
  delete static_cast<Stream *>(stream);
  --fake().held;
  return 0;
}
int cuStreamSynchronize(void *stream) {
  {
    FAKE_BEGIN("cuStreamSynchronize");
    if (int result = failsInCapture())
      return result;
  }
  int result = 0;
  waitUntil([&] {
    const bool isDone = drain(streamOf(stream));
    result = fake().isLost ? fake().failResult : 0;
    return isDone;
  });
  return result;
}
int cuStreamQuery(void *stream) {
  FAKE_BEGIN("cuStreamQuery");
  if (int result = failsInCapture())
    return result;
  const bool isDone = drain(streamOf(stream));
  return fake().isLost ? fake().failResult : isDone ? 0 : kNotReady;
}
int cuEventCreate(void **event, unsigned) {
  FAKE_BEGIN("cuEventCreate");
  *event = new Event;
  ++fake().held;
  return 0;
}
int cuEventDestroy_v2(void *event) {
  Lock lock(fake().mutex);
  delete static_cast<Event *>(event);
  --fake().held;
  return 0;
}
int cuEventRecord(void *event, void *stream) {
  FAKE_BEGIN("cuEventRecord");
  auto *recorded = static_cast<Event *>(event);
  recorded->capture = streamOf(stream).capture;
  if (recorded->capture) {
    recorded->captured = streamOf(stream).last;
    return 0;
  }
  recorded->stream = &streamOf(stream), recorded->isPast = false;
  auto pass = [recorded] {
    recorded->isPast = true;
    recorded->passed = fake().tick.count() ? fake().clock : std::chrono::steady_clock::now();
    return true;
  };
  // A stream without work comes to it at once.
  if (recorded->stream->work.empty())
    pass();
  else
    recorded->stream->work.push_back(pass);
  return 0;
}
int cuEventSynchronize(void *event) {
  {
    FAKE_BEGIN("cuEventSynchronize");
    if (int result = failsInCapture())
      return result;
  }
  auto *awaited = static_cast<Event *>(event);
  waitUntil([&] {
    while (!awaited->isPast && awaited->stream->work.front()())
      awaited->stream->work.pop_front();
    return awaited->isPast;
  });
  return 0;
}
int cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  FAKE_BEGIN("cuEventElapsedTime");
  const auto *first = static_cast<Event *>(from), *last = static_cast<Event *>(to);
  if (!first->stream || !last->stream || !first->isPast || !last->isPast)
    return kInvalidValue;
  *milliseconds = std::chrono::duration<float, std::milli>(last->passed - first->passed).count();
  return 0;
}
/// Only of captured events: nothing else is asked of it.
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  FAKE_BEGIN("cuStreamWaitEvent");
  const auto *awaited = static_cast<Event *>(event);
  Stream &on = streamOf(stream);
  if (!awaited->capture || (on.capture && on.capture != awaited->capture))
    return kInvalidValue;
  on.capture = awaited->capture;
  on.last.insert(awaited->captured.begin(), awaited->captured.end());
  return 0;
}
int cuStreamBeginCapture_v2(void *stream, int) {
  FAKE_BEGIN("cuStreamBeginCapture_v2");
  Stream &on = streamOf(stream);
  if (on.capture || !stream)
    return kCaptureUnsupported;
  on.capture = std::make_shared<Capture>();
  ++fake().numCapturing;
  return 0;
}
int cuStreamEndCapture(void *stream, void **graph) {
  Lock lock(fake().mutex);
  Stream &on = streamOf(stream);
  *graph = nullptr;
  if (!on.capture)
    return kCaptureUnsupported;
  std::shared_ptr<Capture> capture = on.capture;
  for (Stream *each : fake().streams)
    if (each->capture == capture)
      each->capture.reset(), each->last = each == &on ? each->last : std::set<size_t>();
  --fake().numCapturing;
  std::set<size_t> joined = std::move(on.last);
  on.last.clear();
  if (int result = fails("cuStreamEndCapture"))
    return result;
  if (!std::includes(joined.begin(), joined.end(), capture->unjoined.begin(), capture->unjoined.end()))
    return kCaptureUnjoined;
  ++fake().held;
  *graph = new Graph(capture->graph);
  return 0;
}
int cuGraphInstantiateWithFlags(void **runnable, void *graph, unsigned long long) {
  FAKE_BEGIN("cuGraphInstantiateWithFlags");
  ++fake().held;
  *runnable = new Graph(*static_cast<Graph *>(graph));
  return 0;
}
int cuGraphDestroy(void *graph) {
  Lock lock(fake().mutex);
  delete static_cast<Graph *>(graph);
  --fake().held;
  return 0;
}
int cuGraphExecDestroy(void *runnable) { return cuGraphDestroy(runnable); }
int cuGraphLaunch(void *runnable, void *stream) {
  FAKE_BEGIN("cuGraphLaunch");
  auto graph = std::make_shared<const Graph>(*static_cast<Graph *>(runnable));
  return enqueue(stream, "graph of " + std::to_string(graph->nodes.size()), [graph] {
    // Of those that may run, the last one captured: any order that the graph allows is right.
    std::vector<size_t> missing;
    std::vector<std::vector<size_t>> next(graph->nodes.size());
    std::priority_queue<size_t> ready;
    for (size_t i = 0; i < graph->nodes.size(); ++i) {
      missing.push_back(graph->nodes[i].behind.size());
      for (size_t before : graph->nodes[i].behind)
        next[before].push_back(i);
      if (missing[i] == 0)
        ready.push(i);
    }
    while (!ready.empty() && !fake().isLost) {
      const size_t number = ready.top();
      ready.pop();
      graph->nodes[number].work();
      note("node " + graph->nodes[number].what);
      for (size_t after : next[number])
        if (--missing[after] == 0)
          ready.push(after);
    }
  });
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned numOptions, int *options, void **values) {
  FAKE_BEGIN("cuModuleLoadDataEx");
  if (int result = failsInCapture())
    return result;
  std::string text = static_cast<const char *>(image);
  auto loaded = std::make_unique<Module>();
  std::string problem =
      text.find(".version") == std::string::npos ? loadAddresses(text, *loaded) : loadPtx(image, text, *loaded);
  if (!problem.empty()) {
    for (unsigned i = 0; i < numOptions; ++i)
      if (options[i] == 5) // CU_JIT_ERROR_LOG_BUFFER
        std::strcpy(static_cast<char *>(values[i]), problem.c_str());
    return kInvalidPtx;
  }
  takeTime();
  ++fake().held;
  *module = loaded.release();
  note("load");
  return 0;
}
int cuModuleUnload(void *module) {
  Lock lock(fake().mutex);
  delete static_cast<Module *>(module);
  --fake().held;
  return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  FAKE_BEGIN("cuModuleGetFunction");
  auto &functions = static_cast<Module *>(module)->functions;
  auto found = functions.find(name);
  if (found == functions.end())
    return kNotFound;
  fake().functions.push_back({name, found->second, findHostForm(name)});
  *function = &fake().functions.back();
  return 0;
}
int cuLaunchKernel(void *function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                   void *stream, void **parameters, void **) {
  FAKE_BEGIN("cuLaunchKernel");
  auto *launched = static_cast<Function *>(function);
  if (launched->form) {
    std::vector<uint64_t> words;
    for (int i = 0; i < launched->form.parameters; ++i)
      words.push_back(*static_cast<uint64_t *>(parameters[i]));
    return enqueue(stream, "launch " + launched->name, [=] {
      if (!launched->form.run(words.data()))
        fake().isLost = true, fake().failResult = kIllegalAddress;
    });
  }
  const uint32_t numAddresses = launched->entry.numAddresses;
  sluice_grid grid = launched->entry.grid;
  if (blocks == 0 || (grid.threads != 0 && grid.threads != threads) || (grid.blocks != 0 && grid.blocks != blocks))
    return kInvalidValue;
  grid.blocks = blocks, grid.threads = threads;
  // As a driver, reads the parameters before it returns.
  std::vector<unsigned long long> args;
  for (uint32_t i = 0; i < grid.num_args; ++i)
    args.push_back(*static_cast<unsigned long long *>(parameters[i]));
  std::string what = "launch " + launched->name + " " + std::to_string(blocks) + "x" + std::to_string(threads);
  return enqueue(stream, what, [=]() mutable {
    std::vector<void *> addresses;
    for (unsigned long long arg : args) {
      const bool isAddress = addresses.size() < numAddresses;
      // A kernel reads no address of the host's, and an empty tensor's not at all.
      if (isAddress && arg != 0 && !isDevice(arg, 0))
        fake().isLost = true, fake().failResult = kIllegalAddress;
      addresses.push_back(isAddress ? host(arg) : reinterpret_cast<char *>(arg));
    }
    if (!fake().isLost && sluice::runtime::runGrid(fake().pool, grid, addresses.data()) != 0)
      fake().isLost = true, fake().failResult = kLaunchFailed;
  });
}

} // extern "C"
