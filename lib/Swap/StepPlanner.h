//===- StepPlanner.h - One walk over the order ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A walk over the order that builds a plan. The StepPlanner knows which data is
// where, which command must wait for which, and roughly when each ends (as if no
// two copies shared a link). A Placer decides where the tensors that an operator
// misses go, and thereby which residencies must leave.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_STEPPLANNER_H
#define SLUICE_LIB_SWAP_STEPPLANNER_H

#include "AddressMap.h"
#include "CommandOrder.h"
#include "ProblemIndex.h"
#include "UseCalendar.h"
#include "WalkBound.h"
#include "sluice/Plan/Plan.h"

#include <limits>
#include <optional>

namespace sluice::swap {

/// A tensor (invalid: workspace) that must become resident for an operator.
struct Allocation {
  TensorId tensor;
  int64_t bytes = 0;
  bool fetch = false; ///< Copied in; else the operator writes it.
  /// The placer's answer: [offset, offset + reservedBytes).
  int64_t offset = 0;
  int64_t reservedBytes = 0;
  ExtentId extent = {}; ///< Where the offset probably is.
};

struct PlaceRequest {
  Position position;
  MemoryId memory;
  std::vector<Allocation> allocations;
  /// The operator's operands that are resident already. A placer may move one
  /// to `allocations`: it is then evicted and fetched to its new place.
  std::vector<ResidencyId> pinned;
  /// The placer's answer: residencies to evict beside those overlapped.
  std::vector<ResidencyId> evictions;
};

class StepPlanner;

class Placer {
public:
  virtual ~Placer() = default;
  /// Outputs may take the place of operands that die, where their operator lets
  /// them; they are then not in `allocations`.
  virtual bool worksInPlace() const { return false; }
  /// The address from which on the placer reads the calendar; by default it reads none.
  virtual int64_t calendarBase() const { return std::numeric_limits<int64_t>::max(); }
  virtual Status place(const StepPlanner &state, PlaceRequest &request) = 0;
};

/// A parameter in an arena at a step's start.
struct ResidentParameter {
  TensorId tensor;
  MemoryId memory;
  int64_t offset = 0;
  int64_t reservedBytes = 0;
  bool operator==(const ResidentParameter &) const = default;
};

/// How a walk behaves, beside the problem.
struct StepOptions {
  /// A copy out waits for the last user of its data, as in SwapAdvisor; else
  /// only for its writer.
  bool copyOutAfterLastUse = false;
  bool cyclicNextUse = true;
  /// Outputs leave a device when evicted or when the step ends; else as soon as
  /// they are written.
  bool lazyOutputs = false;
  /// Per tensor: copied out as soon as it is written, so that its eviction, which
  /// is foreseen, need not wait for the copy. Empty: none is.
  std::vector<uint8_t> saveEarly;
  /// Host arena addresses, per tensor and per position (workspaces); empty:
  /// chosen on the way.
  std::vector<int64_t> hostOffsets, hostWorkspaceOffsets;
  /// Per tensor: the host's memory or the file that holds its home and what is evicted of it. A tensor of the host's
  /// that finds no room there goes to a file. Empty: the host's.
  std::vector<MemoryId> tier;
  /// Of the host's memory, by homes there.
  int64_t hostHomeBytes = 0;
  /// Per tensor: how often it comes back to a device; the copy in the host's memory is given up at the last time.
  /// Empty: it stays for as long as the tensor is read.
  std::vector<uint32_t> fetches;
};

class StepPlanner {
public:
  StepPlanner(const ProblemIndex &index, const StepOptions &options);

  /// Plans the step. `placers` per memory; the host's is not used. Stops where the limits make the plan useless.
  Status run(const std::vector<ResidentParameter> &initial, std::span<Placer *const> placers,
             const WalkLimits &limits = {});
  /// The plan is not whole; nothing below is valid.
  bool stoppedEarly() const { return isStopped; }

  // Valid after run():
  Plan takePlan();
  WalkCost cost() const { return {makespan, copiedBytes}; }
  std::vector<ResidentParameter> residentAtEnd() const;
  /// The initial parameters that were never evicted.
  std::vector<ResidentParameter> survivors() const;
  /// Per tensor: an operator made it, and it was evicted while still needed.
  const std::vector<uint8_t> &evicted() const { return wasEvicted; }

  // For placers:
  const ProblemIndex &index;
  const AddressMap &arena(MemoryId memory) const { return arenas[memory.index()]; }
  /// False for an invalid id.
  bool live(ResidencyId id) const { return id.valid() && info[id.index()].live; }
  const Residency &residency(ResidencyId id) const { return plan.residencies[id.index()]; }
  /// Position of the next read in this memory from here on; numPositions and
  /// more: in the next step; kNever: none.
  Position nextUse(TensorId t, MemoryId memory) const;
  /// Evicting the residency takes a copy out.
  bool mustSave(ResidencyId id) const { return info[id.index()].written && isLastCopy(id); }
  /// When all commands that read or write it are done.
  int64_t lastTouchNs(ResidencyId id) const { return info[id.index()].lastTouchNs; }
  /// When its range could be free.
  int64_t availableNs(ResidencyId id) const { return availableNs(id, live(id) && mustSave(id)); }
  /// The same; `isSaved`: it is live and must be saved.
  int64_t availableNs(ResidencyId id, bool isSaved) const {
    const Info &i = info[id.index()];
    if (!isSaved)
      return i.lastTouchNs;
    const StreamKind kind =
        tierOf(residency(id).tensor) == Machine::hostMemory() ? StreamKind::SwapOut : StreamKind::FileOut;
    const StreamId out = streamOf(index.swapDevice[residency(id).memory.index()], kind);
    return std::max(i.lastTouchNs, clockNs[out.index()]) + i.copyNs;
  }
  /// From where its evicted copies and its home are, over one link or two.
  int64_t copyInNs(TensorId t, MemoryId memory) const {
    return index.hasFiles() ? copyInOverTiersNs(t, memory) : index.copyInNs(index.spot(t, memory));
  }
  /// From an accelerator's memory to the host's.
  int64_t copyOutNs(TensorId t, MemoryId memory) const;
  /// nextUse and copyInNs of a residency's tensor, cached.
  Position nextUse(ResidencyId id) const { return info[id.index()].nextUse; }
  int64_t copyInNs(ResidencyId id) const { return info[id.index()].copyNs; }
  /// The extents of live tensors in an accelerator's arena from its placer's calendarBase on, in the slots of their
  /// next uses.
  const UseCalendar &calendar(MemoryId memory) const { return calendars[memory.index()]; }
  /// The position, or, above all positions, that of kNever.
  size_t slotOf(Position use) const { return use == kNever ? 2 * index.numPositions : use.index(); }
  /// The sum of copyInNs of the live tensors in an accelerator's arena.
  int64_t liveCopyNs(MemoryId memory) const { return liveCopies[memory.index()]; }
  int64_t computeClockNs(Position position) const;
  /// Of the stream that copies the tensor in.
  int64_t swapInClockNs(TensorId t, MemoryId memory) const;

private:
  using TouchId = Id<struct TouchTag>;
  /// The last command of a stream that read or wrote a residency: a list per residency.
  struct Touch {
    CommandId command;
    TouchId next;
  };
  struct Info {
    bool live = false;
    bool written = false; ///< An operator made the data: no home has it yet.
    Position nextUse = kNever;
    int64_t copyNs = 0;
    ExtentId extent;  ///< In its arena, while it is live; invalid for homes and empty ranges.
    CommandId writer; ///< Invalid for initial residencies.
    TouchId touches;
    int64_t lastTouchNs = 0;
  };

  ResidencyId addResidency(Residency residency);
  /// Whether the live residency's extent is in its memory's calendar.
  bool isInCalendar(ResidencyId id) const;
  /// A live tensor's extent is noted in the calendar and in liveCopies, or no longer.
  void note(ResidencyId id);
  void forget(ResidencyId id);
  void touch(ResidencyId id, CommandId command);
  /// The command being made waits for this one.
  void waitForCommand(CommandId command);
  void waitForWriter(ResidencyId id);
  void waitForTouches(ResidencyId id);
  /// The command waits for all that read a state's old value in the home where it puts the new one.
  void waitForFormerReaders(const Command &command);
  /// Takes the range; the next command waits for all commands that touched its former occupants. `hint`: the extent
  /// that probably holds its first address.
  void occupy(ResidencyId id, ExtentId hint = {});
  CommandId emit(Command command, int64_t durationNs);
  void emitCopy(ResidencyId from, ResidencyId to, LinkId link, StreamId stream);
  StreamId streamOf(DeviceId device, StreamKind kind) const {
    return streamIds[device.index() * kNumStreamKinds + size_t(kind)];
  }
  /// Where an operator is launched.
  StreamId streamOf(OperatorId op) const {
    return streamOf(index.problem.placement[op.index()],
                    index.problem.graph.op(op).communicates ? StreamKind::Communicate : StreamKind::Compute);
  }

  // The host's memory and files (BackingMemory.cpp).
  MemoryId tierOf(TensorId t) const {
    return options.tier.empty() || !t.valid() ? Machine::hostMemory() : options.tier[t.index()];
  }
  /// Where the tensor's residency goes in the host's arena; nothing where no free range holds it.
  std::optional<int64_t> hostOffset(TensorId t, Position position, int64_t bytes, int64_t readyNs) const;
  /// An address range in the arena of the host or a file, chosen without a layout.
  std::optional<int64_t> findRange(MemoryId memory, int64_t bytes, int64_t readyNs) const;
  Expected<ResidencyId> makeHostResidency(TensorId t, Position position, int64_t readyNs);
  /// In the arena of the host or a file.
  Expected<ResidencyId> makeArenaResidency(TensorId t, MemoryId memory, Position position, int64_t readyNs);
  ResidencyId makeHome(TensorId t);
  /// The host's copy of a tensor, its home included; invalid where there is none.
  ResidencyId hostCopy(TensorId t);
  /// The host's copy or a file's, likewise.
  ResidencyId backingCopy(TensorId t);
  /// Copies to a file, by way of the host's arena where no link leads there.
  Status copyToFile(ResidencyId from, MemoryId file, Position position);
  /// Where a copy of a file's tensor to an accelerator starts: in the file, or after a first copy in the host's arena.
  Expected<ResidencyId> stageFromFile(ResidencyId source, MemoryId memory, Position position, DeviceId device);
  ResidencyId residentIn(TensorId t, MemoryId memory) const { return resident[index.spot(t, memory).index()]; }
  bool residesElsewhere(TensorId t, MemoryId memory) const;
  /// The host's memory or a file has it.
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
  /// copyInNs where tensors may be in files.
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
  /// Fills the request with what the operator misses and what it finds.
  void makeRequest(Position position, bool worksInPlace);
  /// Carries the placer's answer out: evictions, then copies in.
  Status makeRoom();
  Status launchOnAccelerator();
  Status evictRange(MemoryId memory, const Allocation &range, Position position);
  void finish(Position position, ResidencyId workspace);
  /// Fills the bound with what every walk must run.
  void expectCommands(const std::vector<ResidentParameter> &initial);
  /// The tensor is copied out as soon as it is written.
  bool leavesAtOnce(TensorId t) const;
  Status saveOutputs();
  Status restore(const std::vector<ResidentParameter> &initial);

  const StepOptions &options;
  Plan plan;
  std::vector<AddressMap> arenas;
  std::vector<UseCalendar> calendars; ///< Per memory; the host's has no slots.
  std::vector<int64_t> calendarBases; ///< Per memory.
  std::vector<int64_t> liveCopies;    ///< Per memory.
  std::vector<Info> info;
  std::vector<Touch> touchPool;
  std::vector<ResidencyId> resident; ///< Per spot.
  std::vector<uint32_t> cursor;      ///< Per spot: reads done.
  std::vector<uint32_t> remaining;   ///< Per tensor: reads to come, in all memories.
  std::vector<StreamId> streamIds;   ///< [device * kNumStreamKinds + kind]
  std::vector<int64_t> clockNs;      ///< Per stream.
  std::vector<int64_t> endNs;        ///< Per command.
  /// [stream * streams + other]: the other's last command waited for.
  std::vector<CommandId> waited;
  std::vector<CommandId> waitFor;    ///< Per stream, for the command being made.
  std::vector<CommandId> toWait;     ///< Scratch of emit().
  std::optional<CommandOrder> order; ///< Of graphs that update states.
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

/// Validates a plan, in release builds too. Infeasible where homes exceed the host's memory.
Expected<Plan> validated(const SwapProblem &problem, Plan plan, std::string solver);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_STEPPLANNER_H
