//===- StepPlanner.h - One walk over the order ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A StepPlanner walks over the order and builds a plan. It knows the places of all
// data, the commands that each command must wait for, and the estimated end of each
// command (as if no two copies shared a link). A Placer chooses addresses for the
// tensors that an operator needs and that are not in memory. This choice determines
// which residencies must leave.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_STEPPLANNER_H
#define SLUICE_LIB_SWAP_STEPPLANNER_H

#include "AddressMap.h"
#include "CommandOrder.h"
#include "ProblemIndex.h"
#include "UseCalendar.h"
#include "WalkBound.h"
#include "WalkCommands.h"
#include "sluice/Plan/Plan.h"

#include <limits>
#include <optional>

namespace sluice::swap {

/// A tensor that must become resident for an operator. An invalid tensor stands for workspace.
struct Allocation {
  TensorId tensor;
  int64_t bytes = 0;
  bool fetch = false; ///< The tensor is copied in. Otherwise the operator writes it.
  /// The placer's answer: [offset, offset + reservedBytes).
  int64_t offset = 0;
  int64_t reservedBytes = 0;
  ExtentId extent = {}; ///< The extent that probably contains the offset.
};

struct PlaceRequest {
  Position position;
  MemoryId memory;
  std::vector<Allocation> allocations;
  /// The operands of the operator that are already resident. A placer may move one of
  /// them to `allocations`. It is then evicted, and fetched to its new place.
  std::vector<ResidencyId> pinned;
  /// The placer's answer: residencies to evict in addition to the overlapped ones.
  std::vector<ResidencyId> evictions;
};

class StepPlanner;

class Placer {
public:
  virtual ~Placer() = default;
  /// Whether outputs may take the place of operands that die, if the operator allows it.
  /// Such outputs are not in `allocations`.
  virtual bool worksInPlace() const { return false; }
  /// The least address for which the placer reads the calendar. By default it reads none.
  virtual int64_t calendarBase() const { return std::numeric_limits<int64_t>::max(); }
  /// Whether place() is called for operators without allocations too.
  virtual bool isAlwaysAsked() const { return false; }
  virtual Status place(const StepPlanner &state, PlaceRequest &request) = 0;
};

/// A parameter that is in an arena when a step starts.
struct ResidentParameter {
  TensorId tensor;
  MemoryId memory;
  int64_t offset = 0;
  int64_t reservedBytes = 0;
  bool operator==(const ResidentParameter &) const = default;
};

/// The behaviour of a walk, apart from the problem.
struct StepOptions {
  /// A copy out waits for the last user of its data, as in SwapAdvisor. Otherwise it
  /// waits only for its writer.
  bool copyOutAfterLastUse = false;
  bool cyclicNextUse = true;
  /// Outputs leave a device when they are evicted or when the step ends. Otherwise they
  /// leave as soon as they are written.
  bool lazyOutputs = false;
  /// For each tensor: it is copied out as soon as it is written. Its expected eviction
  /// then does not have to wait for the copy. Empty stands for no tensor.
  std::vector<uint8_t> saveEarly;
  /// Addresses in the host's arena, for each tensor and for the workspace of each
  /// position. If they are empty, the walk chooses addresses.
  std::vector<int64_t> hostOffsets, hostWorkspaceOffsets;
  /// For each tensor: the host's memory or the file that has its home and its evicted copies. A tensor of the host's
  /// memory that does not fit there goes to a file. Empty stands for the host's memory.
  std::vector<MemoryId> tier;
  /// The bytes of the host's memory that homes take.
  int64_t hostHomeBytes = 0;
  /// For each tensor: the number of times that it returns to a device. The copy in the host's memory is released at the
  /// last time. If this is empty, the copy stays as long as the tensor is read.
  std::vector<uint32_t> fetches;
};

class StepPlanner {
public:
  StepPlanner(const ProblemIndex &index, const StepOptions &options);

  /// Plans the step, with a placer for each memory. The host's placer is not used. `wanted` has the parameters that are
  /// in place when the step begins; a parameter without a link from its home is ignored. Stops if the limits make the
  /// plan useless.
  Status run(const std::vector<ResidentParameter> &wanted, std::span<Placer *const> placers,
             const WalkLimits &limits = {});
  /// Whether the plan is incomplete. Nothing below is valid then.
  bool stoppedEarly() const { return isStopped; }

  // Valid after run():
  Walk takeWalk() { return {std::move(plan), std::move(commands)}; }
  Plan takePlan() { return takeWalk().toPlan(); }
  WalkCost cost() const { return {makespan, copiedBytes}; }
  std::vector<ResidentParameter> residentAtEnd() const;
  /// The initial parameters that were never evicted.
  std::vector<ResidentParameter> survivors() const;
  /// For each tensor: an operator produced it, and it was evicted while it was still needed.
  const std::vector<uint8_t> &evicted() const { return wasEvicted; }

  // For placers:
  const ProblemIndex &index;
  const AddressMap &arena(MemoryId memory) const { return arenas[memory.index()]; }
  /// The tensor's residency in the memory. Invalid if there is none.
  ResidencyId residentIn(TensorId t, MemoryId memory) const { return resident[index.spot(t, memory).index()]; }
  /// False for an invalid id.
  bool live(ResidencyId id) const { return id.valid() && info[id.index()].live; }
  const Residency &residency(ResidencyId id) const { return plan.residencies[id.index()]; }
  /// The position of the next read in this memory. Positions from numPositions on are in
  /// the next step. kNever stands for no read.
  Position nextUse(TensorId t, MemoryId memory) const;
  /// Whether an eviction of the residency needs a copy out.
  bool mustSave(ResidencyId id) const { return info[id.index()].written && isLastCopy(id); }
  /// The time when all commands that read or write the residency are done.
  int64_t lastTouchNs(ResidencyId id) const { return info[id.index()].lastTouchNs; }
  /// The earliest time when its range can be free.
  int64_t availableNs(ResidencyId id) const { return availableNs(id, live(id) && mustSave(id)); }
  /// The same time. `isSaved` means that the residency is live and must be saved.
  int64_t availableNs(ResidencyId id, bool isSaved) const {
    const Info &i = info[id.index()];
    if (!isSaved)
      return i.lastTouchNs;
    const StreamKind kind =
        tierOf(residency(id).tensor) == Machine::hostMemory() ? StreamKind::SwapOut : StreamKind::FileOut;
    const StreamId out = streamOf(index.swapDevice[residency(id).memory.index()], kind);
    return std::max(i.lastTouchNs, clockNs[out.index()]) + i.copyNs;
  }
  /// The time of a copy from the place of its evicted copies and its home, over one link or two.
  int64_t copyInNs(TensorId t, MemoryId memory) const {
    return index.hasFiles() ? copyInOverTiersNs(t, memory) : index.copyInNs(index.spot(t, memory));
  }
  /// The time of a copy from an accelerator's memory to the host's.
  int64_t copyOutNs(TensorId t, MemoryId memory) const;
  /// The cached nextUse and copyInNs of the tensor of a residency.
  Position nextUse(ResidencyId id) const { return info[id.index()].nextUse; }
  int64_t copyInNs(ResidencyId id) const { return info[id.index()].copyNs; }
  /// The extents of live tensors in the arena of an accelerator, from the calendarBase of its placer on. Each is in the
  /// slot of its next use.
  const UseCalendar &calendar(MemoryId memory) const { return calendars[memory.index()]; }
  /// The slot of a position. The slot of kNever is above those of all positions.
  size_t slotOf(Position use) const { return use == kNever ? 2 * index.numPositions : use.index(); }
  /// The sum of copyInNs of the live tensors in an accelerator's arena.
  int64_t liveCopyNs(MemoryId memory) const { return liveCopies[memory.index()]; }
  int64_t computeClockNs(Position position) const;
  /// The time until which the stream that copies the tensor in is busy.
  int64_t swapInClockNs(TensorId t, MemoryId memory) const;

private:
  using TouchId = Id<struct TouchTag>;
  /// The last command of a stream that read or wrote a residency. Each residency has a list of these.
  struct Touch {
    CommandId command;
    TouchId next;
  };
  struct Info {
    bool live = false;
    bool written = false; ///< An operator produced the data, and no home has it yet.
    Position nextUse = kNever;
    int64_t copyNs = 0;
    ExtentId extent;  ///< In its arena while it is live. Invalid for homes and empty ranges.
    CommandId writer; ///< Invalid for initial residencies.
    TouchId touches;
    int64_t lastTouchNs = 0;
  };

  ResidencyId addResidency(Residency residency);
  /// Whether the extent of the live residency is in the calendar of its memory.
  bool isInCalendar(ResidencyId id) const;
  /// Adds the extent of a live tensor to the calendar and to liveCopies, or removes it.
  void note(ResidencyId id);
  void forget(ResidencyId id);
  void touch(ResidencyId id, CommandId command);
  /// Makes the next command wait for this one.
  void waitForCommand(CommandId command);
  void waitForWriter(ResidencyId id);
  void waitForTouches(ResidencyId id);
  /// Makes the command wait for all readers of the old value of a state, if it writes the new value into the same home.
  void waitForFormerReaders(StreamId stream);
  /// Occupies the range. The next command then waits for all commands that used its former occupants. `hint` is the
  /// extent that probably contains the first address.
  void occupy(ResidencyId id, ExtentId hint = {});
  /// Emits a launch, or a copy if the operator is invalid. It reads and writes what `reads` and `writes` hold.
  CommandId emit(StreamId stream, OperatorId op, LinkId link, int64_t durationNs);
  void emitCopy(ResidencyId from, ResidencyId to, LinkId link, StreamId stream);
  StreamId streamOf(DeviceId device, StreamKind kind) const {
    return streamIds[device.index() * kNumStreamKinds + size_t(kind)];
  }
  /// The stream on which an operator is launched.
  StreamId streamOf(OperatorId op) const {
    return streamOf(index.problem.placement[op.index()],
                    index.problem.graph.op(op).communicates ? StreamKind::Communicate : StreamKind::Compute);
  }

  // The host's memory and files (BackingMemory.cpp).
  MemoryId tierOf(TensorId t) const {
    return options.tier.empty() || !t.valid() ? Machine::hostMemory() : options.tier[t.index()];
  }
  /// The offset of the tensor's residency in the host's arena, or nothing if no free range is large enough.
  std::optional<int64_t> hostOffset(TensorId t, Position position, int64_t bytes, int64_t readyNs) const;
  /// An address range in the arena of the host or a file, chosen without a layout.
  std::optional<int64_t> findRange(MemoryId memory, int64_t bytes, int64_t readyNs) const;
  Expected<ResidencyId> makeHostResidency(TensorId t, Position position, int64_t readyNs);
  /// In the arena of the host or a file.
  Expected<ResidencyId> makeArenaResidency(TensorId t, MemoryId memory, Position position, int64_t readyNs);
  ResidencyId makeHome(TensorId t);
  /// The copy of a tensor in the host's memory, which may be its home. Invalid if there is none.
  ResidencyId hostCopy(TensorId t);
  /// The copy of a tensor in the host's memory or in a file. Invalid if there is none.
  ResidencyId backingCopy(TensorId t);
  /// Copies to a file. If no link leads there, the copy goes through the host's arena.
  Status copyToFile(ResidencyId from, MemoryId file, Position position);
  /// The source of a copy of a file's tensor to an accelerator: the file, or the host's arena after a first copy.
  Expected<ResidencyId> stageFromFile(ResidencyId source, MemoryId memory, Position position, DeviceId device);
  bool residesElsewhere(TensorId t, MemoryId memory) const;
  /// Whether the host's memory or a file has the tensor.
  bool isBacked(TensorId t) const {
    if (residentIn(t, Machine::hostMemory()).valid())
      return true;
    for (MemoryId file : index.files())
      if (residentIn(t, file).valid())
        return true;
    return false;
  }
  bool isLastCopy(ResidencyId id) const {
    const Residency &r = residency(id);
    const bool needed = remaining[r.tensor.index()] > 0 || (options.lazyOutputs && index.hasHome[r.tensor.index()]);
    return needed && !isBacked(r.tensor) && (index.numRam <= 2 || !residesElsewhere(r.tensor, r.memory));
  }
  /// copyInNs for machines with files.
  int64_t copyInOverTiersNs(TensorId t, MemoryId memory) const;
  Status copyOut(ResidencyId id, Position position);
  Status evict(ResidencyId id, Position position);
  Status fetch(const Allocation &allocation, MemoryId memory, Position position, DeviceId device);
  void release(ResidencyId id);
  void releaseIfDone(TensorId t, MemoryId memory);

  /// Fills inPlaceOf for the operator at a position.
  void chooseInPlace(Position position);
  Status runOnHost(Position position);
  Status runOnAccelerator(Position position, Placer &placer);
  /// Fills the request with the tensors that the operator still needs and with those that are resident.
  void makeRequest(Position position, bool worksInPlace);
  /// Carries out the placer's answer: first evictions, then copies in.
  Status makeRoom();
  Status launchOnAccelerator();
  Status evictRange(MemoryId memory, const Allocation &range, Position position);
  void finish(Position position, ResidencyId workspace);
  /// Fills the bound with the commands that every walk must run.
  void expectCommands(const std::vector<ResidentParameter> &initial);
  /// Whether the tensor is copied out as soon as it is written.
  bool leavesAtOnce(TensorId t) const;
  Status saveOutputs();
  Status restore(const std::vector<ResidentParameter> &initial);

  const StepOptions &options;
  Plan plan; ///< Without commands.
  WalkCommands commands;
  std::vector<AddressMap> arenas;
  std::vector<UseCalendar> calendars; ///< For each memory. That of the host has no slots.
  std::vector<int64_t> calendarBases; ///< Per memory.
  std::vector<int64_t> liveCopies;    ///< Per memory.
  std::vector<Info> info;
  std::vector<Touch> touchPool;
  std::vector<ResidencyId> resident; ///< Per spot.
  std::vector<uint32_t> cursor;      ///< For each spot: the number of completed reads.
  std::vector<uint32_t> remaining;   ///< For each tensor: the number of later reads in all memories.
  std::vector<StreamId> streamIds;   ///< [device * kNumStreamKinds + kind]
  std::vector<int64_t> clockNs;      ///< Per stream.
  std::vector<int64_t> endNs;        ///< Per command.
  /// [stream * streams + other]: the last command of the other stream that the stream waited for.
  std::vector<CommandId> waited;
  std::vector<CommandId> waitFor;         ///< For each stream, for the next command.
  std::vector<CommandId> toWait;          ///< Scratch of emit().
  std::vector<ResidencyId> reads, writes; ///< Of the next command.
  std::optional<CommandOrder> order;      ///< Present for graphs that update states.
  std::vector<ResidencyId> displaced;
  std::vector<uint8_t> wasEvicted;   ///< Per tensor.
  std::vector<uint32_t> fetchesLeft; ///< Per tensor, as StepOptions::fetches.
  std::vector<ResidencyId> initialResidencies;
  std::vector<ResidentParameter> initialParameters;
  PlaceRequest request;
  std::vector<TensorId> inPlaceOf; ///< Per output at hand: the operand whose place it takes.
  int64_t makespan = 0, copiedBytes = 0;
  WalkBound bound;
  bool isStopped = false;
};

/// Validates a plan, in release builds too. Fails with Infeasible if homes exceed the host's memory.
Expected<Plan> validated(const SwapProblem &problem, Plan plan, std::string solver);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_STEPPLANNER_H
