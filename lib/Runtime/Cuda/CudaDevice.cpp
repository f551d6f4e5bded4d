//===- CudaDevice.cpp - An NVIDIA GPU -------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaDevice.h"
#include "../Stream.h"
#include "../Wait.h"
#include "CudaBlas.h"
#include "CudaDnn.h"
#include "CudaDriver.h"
#include "CudaRanks.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

namespace sluice::runtime {

namespace {

/// What a command returns that has failed: why() says more.
constexpr int32_t kFailed = 1;
constexpr size_t kStagingBytes = size_t(4) << 20;

/// Addresses of all GPUs' arenas, to tell them from the host's.
class DeviceRanges {
public:
  static DeviceRanges &instance() {
    static DeviceRanges ranges;
    return ranges;
  }
  void add(uintptr_t begin, uintptr_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    ends[begin] = end;
  }
  void remove(uintptr_t begin) {
    std::lock_guard<std::mutex> lock(mutex);
    ends.erase(begin);
  }
  bool contains(const void *pointer) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    std::lock_guard<std::mutex> lock(mutex);
    auto after = ends.upper_bound(address);
    return after != ends.begin() && address < std::prev(after)->second;
  }

private:
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ends;
};

class CudaDevice;

class CudaArena final : public Arena {
public:
  CudaArena(CudaDevice &device, CuPointer pointer, int64_t bytes);
  ~CudaArena() override;

private:
  CudaDevice &device;
};

class CudaDevice final : public Device {
public:
  CudaDevice(const CudaDriver &driver, std::string name, CuDevice device, CuContext context, unsigned architecture,
             Ranks &ranks)
      : cu(driver), name(std::move(name)), device(device), context(context), architecture(architecture),
        collectives(std::make_unique<CudaRanks>(driver, device, ranks, *this)) {
    env.size = sizeof env;
    env.grids = this;
    env.launch_grid = [](void *self, const sluice_grid *grid, void **args) {
      return static_cast<CudaDevice *>(self)->launchGrid(*grid, grid->blocks, args);
    };
    env.launch_blocks = [](void *self, const sluice_grid *grid, int64_t blocks, void **args) {
      return static_cast<CudaDevice *>(self)->launchGrid(*grid, static_cast<uint32_t>(blocks), args);
    };
    env.libraries = this;
    env.library = [](void *self, uint32_t function, void *const *args, const void *settings, int64_t bytes) {
      return static_cast<CudaDevice *>(self)->callLibrary(function, args, settings, bytes);
    };
    env.ranks = this;
    env.collective = [](void *self, uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
      return static_cast<CudaDevice *>(self)->collective(kind, args, settings, bytes);
    };
  }
  ~CudaDevice() override {
    cu.setCurrent(context);
    collectives.reset();
    products.reset();
    convolutions.reset();
    for (auto &[thread, queue] : queues) {
      for (int i = 0; i < 2; ++i) {
        if (queue.events[i])
          cu.eventDestroy(queue.events[i]);
        if (queue.staging[i])
          cu.hostFree(queue.staging[i]);
        if (queue.marks[i])
          cu.eventDestroy(queue.marks[i]);
      }
      if (queue.stream)
        cu.streamDestroy(queue.stream);
    }
    if (epoch)
      cu.eventDestroy(epoch);
    for (auto &[images, module] : modules)
      if (module)
        cu.moduleUnload(module);
    cu.primaryRelease(device);
  }

  Result<std::unique_ptr<Arena>> allocate(int64_t bytes, const char *memoryName) override {
    auto fail = [&](CuResult result) {
      return failure("cannot allocate an arena of ", bytes, " bytes for memory '", memoryName,
                     "': ", cu.explain(result), result == kCuOutOfMemory ? ", compile for less memory" : "");
    };
    CuPointer pointer = 0;
    if (CuResult result = cu.setCurrent(context))
      return fail(result);
    if (bytes > 0) {
      if (CuResult result = cu.memAlloc(&pointer, static_cast<size_t>(bytes)))
        return fail(result);
      auto arena = std::make_unique<CudaArena>(*this, pointer, bytes);
      CuResult result = cu.memsetAsync(pointer, 0, static_cast<size_t>(bytes), nullptr);
      if (result == 0)
        result = cu.streamSynchronize(nullptr);
      if (result)
        return fail(result);
      return arena;
    }
    return std::make_unique<CudaArena>(*this, 0, 0);
  }

  Status load(const sluice_grid &grid) override {
    if (check(cu.setCurrent(context), "choosing the GPU") || !functionOf(grid))
      return failure(failureText());
    return {};
  }

  int32_t launch(sluice_kernel_fn kernel, void **args) override {
    Queue *queue = queueOfThread();
    if (!queue)
      return kFailed;
    if (int32_t result = kernel(&env, args))
      return result;
    if (queue->hasBegun && mark(*queue, kEnd))
      return kFailed;
    return check(cu.streamSynchronize(queue->stream), "running");
  }

  int32_t copy(void *destination, const void *source, int64_t bytes) override {
    Queue *queue = queueOfThread();
    if (!queue)
      return kFailed;
    bool toDevice = DeviceRanges::instance().contains(destination),
         fromDevice = DeviceRanges::instance().contains(source);
    auto size = static_cast<size_t>(bytes);
    if (size == 0)
      return 0;
    if (toDevice && fromDevice) {
      if (begin(*queue) ||
          check(cu.copyWithin(address(destination), address(source), size, queue->stream), "copying") ||
          mark(*queue, kEnd))
        return kFailed;
      return check(cu.streamSynchronize(queue->stream), "copying");
    }
    return toDevice ? copyIn(*queue, address(destination), static_cast<const char *>(source), size)
                    : copyOut(*queue, static_cast<char *>(destination), address(source), size);
  }

  void beginStep(bool isTraced) override {
    // Without an event that both clocks know, the caller's times remain.
    traced = false;
    Queue *queue = isTraced ? queueOfThread() : nullptr;
    if (!queue || (!epoch && cu.eventCreate(&epoch, 0)) || cu.eventRecord(epoch, queue->stream) ||
        cu.eventSynchronize(epoch))
      return;
    epochNs = nowNs();
    traced = true;
  }

  Status endStep() override { return collectives->endStep(); }

  void useSymbols(const int64_t *symbols) override { env.symbols = symbols; }

  std::optional<Span> lastSpan() override {
    Queue *queue = existingQueue();
    float before = 0, took = 0;
    if (!queue || !queue->isMarked || cu.eventElapsed(&before, epoch, queue->marks[kBegin]) ||
        cu.eventElapsed(&took, queue->marks[kBegin], queue->marks[kEnd]))
      return std::nullopt;
    auto nanoseconds = [](float milliseconds) { return static_cast<int64_t>(double(milliseconds) * 1e6); };
    const int64_t startNs = epochNs + nanoseconds(before);
    return Span{startNs, startNs + nanoseconds(took)};
  }

  Result<std::unique_ptr<Recording>> record(uint32_t numStreams) override;

  const char *exchangesBy() const override { return collectives->exchangesBy(); }

  std::string notes() const override {
    std::string lines;
    for (const CudaLibrary *library : {products.get(), convolutions.get()})
      if (std::string problem = library->problem(); !problem.empty())
        lines += (lines.empty() ? "device '" : "\ndevice '") + name + "': " + problem;
    return lines;
  }

  std::string failureText() const override {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = problems.find(std::this_thread::get_id());
    return found == problems.end() ? "" : found->second;
  }

  void release(CuPointer pointer) {
    cu.setCurrent(context);
    cu.memFree(pointer);
  }

private:
  friend class CudaRecording;

  /// What one of the runtime's streams has of the driver.
  struct Queue {
    CuStream stream = nullptr;
    void *staging[2] = {nullptr, nullptr};
    CuEvent events[2] = {nullptr, nullptr}; ///< The staging buffer's last copy.
    CuEvent marks[2] = {nullptr, nullptr};  ///< The last traced command's begin and end.
    bool hasBegun = false;                  ///< The last command has asked the driver for something.
    bool isMarked = false;                  ///< The last command's marks they are.
    bool isWithin = false;                  ///< Copies are part of the launch that is marked.
  };
  static constexpr int kBegin = 0, kEnd = 1;

  static CuPointer address(const void *pointer) { return reinterpret_cast<CuPointer>(pointer); }

  void note(std::string problem) {
    std::lock_guard<std::mutex> lock(mutex);
    problems[std::this_thread::get_id()] = "device '" + name + "': " + std::move(problem);
  }
  int32_t check(CuResult result, const char *what) {
    if (result == 0)
      return 0;
    note(cu.explain(result) + ", while " + what);
    return kFailed;
  }

  Queue *queueOfThread() {
    Queue *queue;
    {
      std::lock_guard<std::mutex> lock(mutex);
      problems.erase(std::this_thread::get_id());
      queue = &queues[std::this_thread::get_id()];
    }
    queue->isMarked = queue->hasBegun = false;
    if (check(cu.setCurrent(context), "choosing the GPU"))
      return nullptr;
    if (!queue->stream && check(cu.streamCreate(&queue->stream, kCuStreamNonBlocking), "making a stream"))
      return nullptr;
    return queue;
  }

  Queue *existingQueue() {
    if (recorded)
      return recorded;
    std::lock_guard<std::mutex> lock(mutex);
    auto found = queues.find(std::this_thread::get_id());
    return found == queues.end() ? nullptr : &found->second;
  }

  /// In a traced step, has the GPU note when it comes here.
  int32_t mark(Queue &queue, int which) {
    if (!traced || queue.isWithin)
      return 0;
    CuEvent &event = queue.marks[which];
    if (!event && check(cu.eventCreate(&event, 0), "making an event"))
      return kFailed;
    if (check(cu.eventRecord(event, queue.stream), "timing it"))
      return kFailed;
    queue.isMarked = which == kEnd;
    return 0;
  }

  /// Just before what the GPU is asked for: what the host has to do first is not the GPU's time.
  int32_t begin(Queue &queue) {
    if (queue.hasBegun)
      return 0;
    queue.hasBegun = true;
    return mark(queue, kBegin);
  }

  int32_t prepareStaging(Queue &queue) {
    for (int i = 0; i < 2; ++i) {
      if (!queue.staging[i] && check(cu.hostAlloc(&queue.staging[i], kStagingBytes, 0), "pinning host memory"))
        return kFailed;
      if (!queue.events[i] && check(cu.eventCreate(&queue.events[i], kCuEventNoTiming), "making an event"))
        return kFailed;
    }
    return 0;
  }

  /// One buffer is filled while the other is on its way.
  int32_t copyIn(Queue &queue, CuPointer destination, const char *source, size_t bytes) {
    if (prepareStaging(queue))
      return kFailed;
    for (size_t done = 0, i = 0; done < bytes; done += kStagingBytes, ++i) {
      size_t piece = std::min(kStagingBytes, bytes - done), which = i % 2;
      if (i >= 2 && check(cu.eventSynchronize(queue.events[which]), "copying to it"))
        return kFailed;
      std::memcpy(queue.staging[which], source + done, piece);
      if (begin(queue) ||
          check(cu.copyIn(destination + done, queue.staging[which], piece, queue.stream), "copying to it") ||
          check(cu.eventRecord(queue.events[which], queue.stream), "copying to it"))
        return kFailed;
    }
    if (mark(queue, kEnd))
      return kFailed;
    return check(cu.streamSynchronize(queue.stream), "copying to it");
  }

  int32_t copyOut(Queue &queue, char *destination, CuPointer source, size_t bytes) {
    if (prepareStaging(queue) || begin(queue))
      return kFailed;
    size_t pieces = (bytes + kStagingBytes - 1) / kStagingBytes;
    auto pieceOf = [&](size_t i) { return std::min(kStagingBytes, bytes - i * kStagingBytes); };
    // Piece i is on its way while piece i - 1 goes where it belongs.
    for (size_t i = 0; i <= pieces; ++i) {
      if (i < pieces && (check(cu.copyOut(queue.staging[i % 2], source + i * kStagingBytes, pieceOf(i), queue.stream),
                               "copying from it") ||
                         (i + 1 == pieces && mark(queue, kEnd)) ||
                         check(cu.eventRecord(queue.events[i % 2], queue.stream), "copying from it")))
        return kFailed;
      if (i == 0)
        continue;
      size_t last = (i - 1) % 2;
      if (check(cu.eventSynchronize(queue.events[last]), "copying from it"))
        return kFailed;
      std::memcpy(destination + (i - 1) * kStagingBytes, queue.staging[last], pieceOf(i - 1));
    }
    return 0;
  }

  /// Any thread; the module is loaded once.
  CuFunction functionOf(const sluice_grid &grid) {
    std::lock_guard<std::mutex> lock(loading);
    if (auto found = functions.find(&grid); found != functions.end())
      return found->second;
    const sluice_image *best = nullptr;
    std::string known;
    for (uint32_t i = 0; i < grid.num_images; ++i) {
      const sluice_image &image = grid.images[i];
      known += (i ? ", sm_" : "sm_") + std::to_string(image.architecture);
      // PTX runs on its architecture and all later ones, a cubin on its own alone.
      bool fits = image.is_binary ? image.architecture == architecture : image.architecture <= architecture;
      if (fits && (!best || image.architecture > best->architecture))
        best = &image;
    }
    if (!best) {
      note("the model has code for " + (known.empty() ? "no GPU" : known) + " and the GPU is sm_" +
           std::to_string(architecture) + ", compile with --target cuda:sm_" + std::to_string(architecture));
      return nullptr;
    }
    CuModule &module = modules[best];
    if (!module) {
      std::vector<char> log(4096, '\0');
      int options[] = {kCuJitErrorLog, kCuJitErrorLogBytes};
      void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
      if (CuResult result = cu.moduleLoad(&module, best->data, 2, options, values)) {
        module = nullptr;
        note(cu.explain(result) + ", while loading its code: " + log.data());
        return nullptr;
      }
    }
    CuFunction function = nullptr;
    if (check(cu.moduleGetFunction(&function, module, grid.name), "looking for a kernel in its code"))
      return nullptr;
    return functions[&grid] = function;
  }

  int32_t callLibrary(uint32_t function, void *const *args, const void *settings, int64_t bytes) {
    const bool accumulates = function & SLUICE_LIBRARY_ACCUMULATE;
    function &= ~uint32_t(SLUICE_LIBRARY_ACCUMULATE);
    CudaLibrary *library = function == SLUICE_LIBRARY_MATMUL                 ? products.get()
                           : function <= SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT ? convolutions.get()
                                                                             : nullptr;
    if (!library || bytes != static_cast<int64_t>(library->settingsBytes)) {
      note("the model requests a library function that this runtime does not have, compile the model again");
      return kFailed;
    }
    const CudaLibrary::Request request{function, accumulates, settings};
    if (!library->prepare(request))
      return SLUICE_LIBRARY_ABSENT;
    Queue &queue = *existingQueue();
    if (begin(queue))
      return kFailed;
    Result<bool> computed = library->compute(request, queue.stream, args);
    if (!computed)
      note(computed.error());
    return !computed ? kFailed : *computed ? 0 : SLUICE_LIBRARY_ABSENT;
  }

  int32_t collective(uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
    struct Within {
      explicit Within(Queue &queue) : queue(queue) { queue.isWithin = true; }
      // Copies have begun anew.
      ~Within() { queue.isWithin = false, queue.hasBegun = true; }
      Queue &queue;
    };
    Queue *queue = existingQueue();
    Status status = collectives->prepare(kind);
    if (status && begin(*queue))
      return kFailed;
    if (status) {
      Within within(*queue);
      status = collectives->run(kind, args, settings, bytes, queue->stream);
    }
    if (!status)
      note(status.error());
    return status ? 0 : kFailed;
  }

  int32_t launchGrid(const sluice_grid &grid, uint32_t blocks, void **args) {
    // The driver refuses a launch without blocks.
    if (blocks == 0)
      return 0;
    CuFunction function = functionOf(grid);
    if (!function)
      return kFailed;
    Queue *queue = existingQueue(); // launch() has made it.
    std::vector<void *> parameters;
    for (uint32_t i = 0; i < grid.num_args; ++i)
      parameters.push_back(&args[i]);
    if (begin(*queue))
      return kFailed;
    // Shared memory is in the function itself.
    return check(cu.launch(function, blocks, 1, 1, grid.threads, 1, 1, 0, queue->stream, parameters.data(), nullptr),
                 "launching");
  }

  const CudaDriver &cu;
  std::string name;
  CuDevice device;
  CuContext context;
  unsigned architecture; ///< 80: sm_80.
  std::unique_ptr<CudaRanks> collectives;
  sluice_kernel_env env{};
  std::unique_ptr<CudaLibrary> products = std::make_unique<CudaProducts>(),
                               convolutions = std::make_unique<CudaConvolutions>();
  Queue *recorded = nullptr; ///< Where commands are recorded instead of run; no other thread works then.
  bool traced = false;       ///< Of the step under way; before its first command.
  CuEvent epoch = nullptr;
  int64_t epochNs = 0; ///< When `epoch` was, by the host's clock.

  mutable std::mutex mutex; ///< Of the two below; a queue is its thread's own.
  std::map<std::thread::id, Queue> queues;
  std::map<std::thread::id, std::string> problems;
  std::mutex loading; ///< Of the two below.
  std::map<const sluice_image *, CuModule> modules;
  std::map<const sluice_grid *, CuFunction> functions;
};

/// By stream capture ("CUDA C++ Programming Guide", CUDA Graphs): a stream a stream
/// of the model's, all behind the first one's begin and before its end.
class CudaRecording final : public Recording {
public:
  CudaRecording(CudaDevice &device, uint32_t numStreams) : device(device), cu(device.cu), queues(numStreams) {}

  ~CudaRecording() override {
    cu.setCurrent(device.context);
    device.recorded = nullptr; // A launch that memory ran out in has left it.
    stop();
    if (runnable)
      cu.graphExecDestroy(runnable);
    for (CuEvent event : events)
      if (event)
        cu.eventDestroy(event);
    for (CudaDevice::Queue &queue : queues)
      if (queue.stream)
        cu.streamDestroy(queue.stream);
    for (char *memory : pinned)
      cu.hostUnregister(memory);
    for (void *memory : own)
      cu.hostFree(memory);
  }

  /// To be called before all else.
  Status begin() {
    for (CudaDevice::Queue &queue : queues)
      if (Status made = check(cu.streamCreate(&queue.stream, kCuStreamNonBlocking), "making a stream"); !made)
        return made;
    return {};
  }

  Result<char *> allocateHost(int64_t bytes) override {
    own.reserve(own.size() + 1);
    void *memory = nullptr;
    if (Status status = check(cu.hostAlloc(&memory, static_cast<size_t>(bytes), 0), "pinning host memory"); !status)
      return tl::unexpected(status.error());
    own.push_back(memory);
    return static_cast<char *>(memory);
  }

  Status pin(char *memory, int64_t bytes) override {
    pinned.reserve(pinned.size() + 1);
    Status status = check(cu.hostRegister(memory, static_cast<size_t>(bytes), 0), "pinning host memory");
    if (status)
      pinned.push_back(memory);
    return status;
  }

  Status add(const Command &command, const uint32_t *waits, uint32_t numWaits) override {
    CudaDevice::Queue &queue = queues[command.stream];
    Status status = enter(queue);
    for (uint32_t i = 0; i < numWaits && status; ++i)
      status = check(cu.streamWaitEvent(queue.stream, done[waits[i]], 0), "recording a wait");
    if (status)
      status = command.kernel ? launch(command, queue) : copy(command, queue);
    if (!status)
      return status;
    Result<CuEvent> event = mark(queue);
    if (!event)
      return tl::unexpected(event.error());
    done.push_back(*event);
    return {};
  }

  Status finish() override {
    if (!origin)
      return failure("a step has no command");
    Status status;
    for (CudaDevice::Queue &queue : queues)
      if (queue.isMarked && &queue != origin && status) {
        Result<CuEvent> last = mark(queue);
        status = last ? check(cu.streamWaitEvent(origin->stream, *last, 0), "recording a wait")
                      : Status(tl::unexpected(last.error()));
      }
    CuGraph graph = nullptr;
    CuResult ended = cu.streamEndCapture(origin->stream, &graph);
    isCapturing = false;
    if (status)
      status = check(ended, "recording");
    if (status)
      status = check(cu.graphInstantiate(&runnable, graph, 0), "preparing what was recorded");
    if (!status)
      runnable = nullptr;
    if (graph)
      cu.graphDestroy(graph);
    return status;
  }

  Status run() override {
    Status status = check(cu.setCurrent(device.context), "choosing the GPU");
    if (status)
      status = check(cu.graphLaunch(runnable, origin->stream), "launching a step's graph");
    return status ? check(cu.streamSynchronize(origin->stream), "running a step's graph") : status;
  }

private:
  Status check(CuResult result, const char *what) const {
    if (result == 0)
      return {};
    return failure("device '", device.name, "': ", cu.explain(result), ", while ", what);
  }

  /// The first stream begins the capture, others join it there.
  Status enter(CudaDevice::Queue &queue) {
    if (queue.isMarked)
      return {};
    Status status;
    if (!origin) {
      status = check(cu.streamBeginCapture(queue.stream, kCuCaptureThread), "beginning to record");
      if (!status)
        return status;
      origin = &queue, isCapturing = true;
      Result<CuEvent> first = mark(queue);
      if (!first)
        return tl::unexpected(first.error());
      root = *first;
    } else {
      status = check(cu.streamWaitEvent(queue.stream, root, 0), "recording a wait");
    }
    queue.isMarked = static_cast<bool>(status);
    return status;
  }

  Result<CuEvent> mark(CudaDevice::Queue &queue) {
    CuEvent &event = events.emplace_back(nullptr);
    Status status = check(cu.eventCreate(&event, kCuEventNoTiming), "making an event");
    if (status)
      status = check(cu.eventRecord(event, queue.stream), "recording an event");
    if (!status)
      return tl::unexpected(status.error());
    return event;
  }

  Status launch(const Command &command, CudaDevice::Queue &queue) {
    device.recorded = &queue;
    int32_t result = command.kernel(&device.env, command.args);
    device.recorded = nullptr;
    if (result != 0)
      return failure(device.failureText(), ", code ", result);
    return {};
  }

  Status copy(const Command &command, CudaDevice::Queue &queue) {
    auto size = static_cast<size_t>(command.bytes);
    if (size == 0)
      return {};
    CuPointer to = CudaDevice::address(command.destination), from = CudaDevice::address(command.source);
    bool toDevice = DeviceRanges::instance().contains(command.destination),
         fromDevice = DeviceRanges::instance().contains(command.source);
    CuResult result = toDevice && fromDevice ? cu.copyWithin(to, from, size, queue.stream)
                      : toDevice             ? cu.copyIn(to, command.source, size, queue.stream)
                                             : cu.copyOut(command.destination, from, size, queue.stream);
    return check(result, "recording a copy");
  }

  /// What is recorded so far is given up.
  void stop() {
    if (!isCapturing)
      return;
    CuGraph graph = nullptr;
    if (cu.streamEndCapture(origin->stream, &graph) == 0 && graph)
      cu.graphDestroy(graph);
  }

  CudaDevice &device;
  const CudaDriver &cu;
  std::vector<CudaDevice::Queue> queues; ///< Per stream; isMarked: it takes part.
  CudaDevice::Queue *origin = nullptr;
  CuEvent root = nullptr;
  std::vector<CuEvent> events, done; ///< All; per command.
  bool isCapturing = false;
  CuGraphExec runnable = nullptr;
  std::vector<char *> pinned;
  std::vector<void *> own;
};

Result<std::unique_ptr<Recording>> CudaDevice::record(uint32_t numStreams) {
  if (!cu.graphs())
    return failure("device '", name, "': its driver does not support graphs, install a driver for CUDA 11.4 or newer");
  if (cu.setCurrent(context))
    return failure("device '", name, "': its CUDA context cannot be made current, open the session again");
  auto recording = std::make_unique<CudaRecording>(*this, numStreams);
  if (Status begun = recording->begin(); !begun)
    return tl::unexpected(begun.error());
  return recording;
}

CudaArena::CudaArena(CudaDevice &device, CuPointer pointer, int64_t bytes)
    : Arena(reinterpret_cast<char *>(pointer), bytes), device(device) {
  if (bytes > 0)
    DeviceRanges::instance().add(pointer, pointer + static_cast<uintptr_t>(bytes));
}

CudaArena::~CudaArena() {
  if (length == 0)
    return;
  DeviceRanges::instance().remove(reinterpret_cast<uintptr_t>(start));
  device.release(reinterpret_cast<CuPointer>(start));
}

} // namespace

Result<std::unique_ptr<Device>> createCudaDevice(const sluice_device_desc &desc, int ordinal, int first, Ranks &ranks) {
  auto fail = [&](const std::string &what) { return failure("device '", desc.name, "': ", what); };
  Result<const CudaDriver *> driver = cudaDriver();
  if (!driver)
    return fail(driver.error());
  const CudaDriver &cu = **driver;
  int count = 0;
  if (CuResult result = cu.deviceGetCount(&count))
    return fail(cu.explain(result) + ", while looking for GPUs");
  if (ordinal >= count)
    return fail("needs GPU number " + std::to_string(ordinal) + ", and this computer has " + std::to_string(count) +
                " GPUs, compile the model for this computer");
  const int number = (first + ordinal) % count;
  CuDevice device = 0;
  int major = 0, minor = 0;
  CuContext context = nullptr;
  CuResult result = cu.deviceGet(&device, number);
  if (!result)
    result = cu.deviceGetAttribute(&major, kCuComputeMajor, device);
  if (!result)
    result = cu.deviceGetAttribute(&minor, kCuComputeMinor, device);
  if (!result)
    result = cu.primaryRetain(&context, device);
  if (result)
    return fail(cu.explain(result) + ", while opening GPU number " + std::to_string(number));
  return std::make_unique<CudaDevice>(cu, desc.name, device, context, static_cast<unsigned>(major * 10 + minor), ranks);
}

} // namespace sluice::runtime
