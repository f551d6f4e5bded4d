//===- Executor.h - Runs a model's programs ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The model's init and step call the executor for every command. The executor checks
// the command's slots against the arenas, turns them into addresses, and queues the
// command on its stream. A model with one CPU and compute streams alone needs no queues:
// issue order respects every wait, so its commands run on the calling thread. The
// second step of a model on a single GPU is recorded, and later steps replay the
// recording as one launch.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_EXECUTOR_H
#define SLUICE_RUNTIME_EXECUTOR_H

#include "BackingFile.h"
#include "Collective.h"
#include "ExpertPool.h"
#include "Model.h"
#include "Shapes.h"
#include "Stream.h"
#include "sluice/Runtime/sluice.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::runtime {
class Executor;
}

struct sluice_context {
  sluice::runtime::Executor *executor;
};

namespace sluice::runtime {

/// A bump allocator for one step's commands: pieces are allocated one by one and released
/// together. The blocks are kept for the next step.
class StepAllocator {
public:
  template <typename T>
  T *take(size_t count) {
    static_assert(alignof(T) <= 8 && std::is_trivially_destructible_v<T>);
    return static_cast<T *>(takeBytes((count * sizeof(T) + 7) / 8 * 8));
  }
  void giveBack() { block = 0, used = 0; }

private:
  void *takeBytes(size_t bytes);

  struct Block {
    std::unique_ptr<uint64_t[]> data;
    size_t bytes;
  };
  std::vector<Block> blocks;
  size_t block = 0, used = 0;
};

/// Where the model's parameters are: in memory that outlives the executor. If `path` is not empty, they are also in
/// that file, from which a model that streams its parameters reads them.
struct ParameterSource {
  const void *memory = nullptr;
  std::string path;
};

class Executor {
public:
  /// Loads the code of `grids` (null, or null-terminated) on GPUs, allocates the
  /// arenas and runs the model's init. `parameters` are `source->parameter_bytes` bytes.
  static Result<std::unique_ptr<Executor>> create(const sluice_model *source, const sluice_grid *const *grids,
                                                  const ParameterSource &parameters, const sluice_options &options);
  ~Executor();
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  /// After a failure the contents of outputs and states are undefined, and the next
  /// step may run.
  Status step(const void *const *inputs, void *const *outputs);
  /// Copies the whole of state number `index`, which must be in range, between steps.
  Status readState(uint32_t index, void *data);
  Status writeState(uint32_t index, const void *data);
  const std::vector<sluice_tensor_desc> &states() const { return tables.states; }
  Status slowDevice(uint32_t index, double factor);
  /// Does what sluice_reset does. To be called between steps.
  Status reset();
  /// Does what sluice_set_length does. To be called between steps.
  Status setLength(size_t symbol, int64_t length) { return current.setLength(symbol, length); }
  /// Does what sluice_set_shapes does. To be called between steps.
  Status setShapes(const int64_t *const *given) { return current.set(given); }
  const Shapes &shapes() const { return current; }
  /// Sets the value of a symbol that is an extent of an input, from the next step on. Fails if the value is out of the
  /// symbol's range, or if a state is full.
  Status setSymbol(size_t symbol, int64_t value) { return current.setSymbol(symbol, value); }
  const Model &described() const { return tables; }
  void stats(sluice_stats &out) const;
  void expertStats(sluice_expert_stats &out) const;
  const std::vector<sluice_command_time> &trace() const { return times; }
  const std::vector<sluice_device_time> &deviceTrace() const { return deviceTimes; }
  /// Lines that explain what ran slower than possible, and why. To be called between steps.
  std::string notes() const;
  const sluice_model *model() const { return tables.source.get(); }

private:
  Executor(Model model, const void *parameters, const sluice_options &options);
  Status prepare(uint32_t threads, const sluice_grid *const *grids);
  Status openFiles(const std::string &parameterPath);
  Status openExperts();
  Status copyInitialStates();
  /// A state that the program in use keeps in the memory of a device between steps. Its home in the state store is up
  /// to date only right after copyKept(ToHome).
  struct KeptState {
    char *home, *kept;
    int64_t bytes;
    Device *device;
  };
  enum class KeptCopy { ToHome, FromHome };
  /// Copies all kept states, or only the one at `home`.
  Status copyKept(KeptCopy direction, const char *home = nullptr) const;
  char *homeOf(uint32_t index) const { return state->base() + tables.source->state_offsets[index]; }
  /// The code of a step, planned for all values of the symbols up to `bounds`.
  struct Program {
    int32_t (*init)(const sluice_api *, sluice_context *);
    int32_t (*step)(const sluice_api *, sluice_context *);
    const int64_t *bounds; ///< Null: the symbols' upper bounds.
    std::vector<int64_t> arenaBytes;
    int64_t plannedBytesIn, plannedBytesOut;
    int64_t plannedBytesRead, plannedBytesWritten;
  };
  Status allocateArenas(const Program &program);
  const Program &programOfStep() const;
  Status use(const Program &program);
  Result<std::unique_ptr<Arena>> allocateHome(int64_t bytes, const char *name) const;
  Status run(int32_t (*program)(const sluice_api *, sluice_context *), const char *what);
  void tryToRecord();
  Result<Device *> findRecorder() const;
  Status recordStep();
  void dropRecording();
  /// Steps run command by command from now on.
  void giveUpRecording(std::string why);
  Status replayStep(const void *const *stepInputs, void *const *stepOutputs);
  Status countPinned(int64_t bytes);
  Result<char *> pinnedParameters(const sluice_slot &slot, char *address);
  void collectTrace();
  void keepTime(const Command &command);
  /// Whether the other ranks run other programs.
  bool isOfPipeline() const;
  /// A digest of the properties that the models of all ranks must share.
  std::string digest() const;

  /// The arguments of sluice_api's functions, in their order.
  struct LaunchCall {
    uint32_t command, stream;
    sluice_kernel_fn kernel;
    uint32_t op;
    const sluice_slot *slots;
    uint32_t numSlots;
    const uint32_t *waits;
    uint32_t numWaits;
  };
  struct CopyCall {
    uint32_t command, stream, link;
    const sluice_slot *destination, *source;
    int64_t bytes;
    uint32_t tensor;
    const uint32_t *waits;
    uint32_t numWaits;
  };
  int32_t launch(const LaunchCall &call);
  /// What the launch of an expert's operator needs; null for other operators, and if all parameters are in memory.
  Result<const ExpertLaunch *> expertLaunch(const LaunchCall &call);
  int32_t copy(const CopyCall &call);
  Status checkIssue(uint32_t command, uint32_t stream, const uint32_t *waits, uint32_t numWaits) const;
  /// The memory that holds the slots of one segment.
  struct Space {
    char *base;
    int64_t bytes;
  };
  std::optional<Space> spaceOf(const sluice_slot &slot) const;
  bool isFile(uint32_t memory) const { return tables.isFile(memory); }
  /// One end of a copy.
  struct CopyEnd {
    char *address = nullptr;     ///< Null in a file.
    BackingFile *file = nullptr; ///< Null in memory. Parameters of a file may be in memory too.
  };
  /// Returns nothing if the slot exceeds its arena, store, file or tensor.
  std::optional<CopyEnd> resolveEnd(const sluice_slot &slot);
  Status checkCopyPath(const CopyCall &call) const;
  /// Returns nothing if the slot exceeds its arena, store or tensor.
  std::optional<char *> resolve(const sluice_slot &slot);
  std::string whyUnresolved(const sluice_slot &slot) const;
  int64_t heldBytes(const sluice_slot &slot) const;
  Command newCommand(uint32_t command, uint32_t stream) const;
  std::string describe(const Command &command) const;
  void issue(const Command &command, const uint32_t *waits, uint32_t numWaits);
  template <typename Body>
  int32_t guarded(uint32_t command, const Body &body);

  Model tables;
  Shapes current; ///< Shapes of inputs and outputs. Declared after the tables, which it uses.
  const sluice_options options;
  char *const parameters;
  std::unique_ptr<BackingFile> parameterFile; ///< Null unless the model reads parameters from a file.
  std::unique_ptr<Arena> state;
  Ranks ranks;
  std::vector<std::unique_ptr<Device>> devices; ///< Declared before the arenas, whose memory devices own.
  std::vector<std::unique_ptr<Arena>> arenas;   ///< Per memory, of the program in use; null for files.
  std::vector<std::unique_ptr<BackingFile>>
      files;                         ///< Per memory: its arena in a file; null where it is not one, or empty.
  std::vector<Program> programs;     ///< The programs of the buckets, then that for the upper bounds.
  const Program *inUse = nullptr;    ///< The program that has its arenas, and whose init has run.
  std::vector<KeptState> keptStates; ///< The kept states of that program.
  std::vector<std::unique_ptr<Link>> links;
  std::unique_ptr<ExpertPool> experts; ///< Null without experts, or if the application holds the parameters in memory.
  std::vector<uint32_t> expertOf; ///< Per operator: its number in the table of experts; UINT32_MAX if it is no expert.
  bool runsInline = false;
  bool isApart = false; ///< Whether a step of several ranks has failed: then ranks may be at different commands.
  sluice_context context;
  sluice_api api;

  // State of the current step.
  StepState stepState;
  StepAllocator allocator;
  const void *const *inputs = nullptr;
  void *const *outputs = nullptr;
  uint32_t issued = 0;
  std::vector<Event> events;     ///< Per issued command; empty if the step runs inline.
  std::vector<Command *> queued; ///< Issued commands, if the step is traced and not inline.
  std::vector<void *> inlineArgs;
  int64_t startNs = 0;
  std::vector<sluice_command_time> times;
  std::vector<sluice_device_time> deviceTimes; ///< The same commands' times by the devices' clocks.

  // Recorded steps. Declared after the devices, which the recording uses.
  std::unique_ptr<Recording> recording;
  /// The symbols' values in the recorded step; nothing until the recording is complete.
  std::optional<std::vector<int64_t>> recordedSymbols;
  std::optional<std::vector<int64_t>> lastSymbols; ///< The symbols' values in the last successful step.
  bool isRecording = false;                        ///< Whether commands are kept for the recording instead of run.
  struct KeptCommand {
    Command command;
    const uint32_t *waits;
    uint32_t numWaits;
  };
  std::vector<KeptCommand> toRecord; ///< Commands to be recorded, in memory of the allocator.
  std::vector<char *> pinnedInputs, pinnedOutputs;
  std::map<std::pair<int64_t, int64_t>, char *> pinnedSlots; ///< By offset and bytes of parameters.
  int64_t pinnedBytes = 0;                                   ///< All pinned host memory.
  std::string recordingError;

  int64_t stepNs = 0, bytesIn = 0, bytesOut = 0, initBytesIn = 0;
  int64_t bytesRead = 0, bytesWritten = 0, initBytesRead = 0;
  std::vector<int64_t> peaks; ///< Per memory.

  /// Each is null until its first command. Declared last, because the streams' threads use everything above.
  std::vector<std::unique_ptr<Stream>> streams;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_EXECUTOR_H
