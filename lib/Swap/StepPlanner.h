//===- StepPlanner.h - One walk over the order ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Knows what a plan is made of: which data is where, which command must wait
// for which, and when, roughly, each ends (links shared by nobody). Where an
// operator's missing tensors go, and so who must leave, a Placer says.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_STEPPLANNER_H
#define SLUICE_LIB_SWAP_STEPPLANNER_H

#include "Arena.h"
#include "ProblemIndex.h"
#include "sluice/Plan/Plan.h"

namespace sluice::swap {

/// A tensor (invalid: workspace) that must become resident for an operator.
struct Want {
  TensorId tensor;
  int64_t bytes = 0;
  bool fetch = false; ///< Copied in; else the operator writes it.
  /// The placer's answer: [offset, offset + takes).
  int64_t offset = 0;
  int64_t takes = 0;
};

struct PlaceRequest {
  uint32_t position = 0;
  uint32_t memory = 0;
  std::vector<Want> wants;
  /// The operator's operands that are resident already. A placer may move one
  /// to `wants`: it is then evicted and fetched to its new place.
  std::vector<uint32_t> pinned;
  /// The placer's answer: residencies to evict beside those overlapped.
  std::vector<uint32_t> evictions;
};

class StepPlanner;

class Placer {
public:
  virtual ~Placer() = default;
  /// Outputs may take the place of operands that die, where their operator lets
  /// them; they are then not in `wants`.
  virtual bool worksInPlace() const { return false; }
  virtual Status place(const StepPlanner &state, PlaceRequest &request) = 0;
};

/// A parameter in an arena at a step's start.
struct Kept {
  TensorId tensor;
  uint32_t memory = 0;
  int64_t offset = 0;
  int64_t takes = 0;
  bool operator==(const Kept &) const = default;
};

/// What a walk needs to know beside the problem.
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
};

class StepPlanner {
public:
  StepPlanner(const ProblemIndex &index, const StepOptions &options);

  /// Plans the step. `placers` per memory; the host's is not used.
  Status run(const std::vector<Kept> &initial, std::span<Placer *const> placers);

  // After run():
  Plan takePlan();
  int64_t makespanNs() const { return makespan; }
  int64_t bytesCopied() const { return copiedBytes; }
  std::vector<Kept> residentAtEnd() const;
  /// Those of the initial ones that never left.
  std::vector<Kept> survivors() const;
  /// Per tensor: what left its memory while still needed.
  const std::vector<uint8_t> &evicted() const { return wasEvicted; }

  // For placers:
  const ProblemIndex &index;
  const Arena &arena(uint32_t memory) const { return arenas[memory]; }
  bool live(uint32_t residency) const { return residency != kNobody && info[residency].live; }
  const Residency &residency(uint32_t id) const { return plan.residencies[id]; }
  /// Position of the next read in this memory from here on; numPositions and
  /// more: in the next step; kNever: none.
  uint32_t nextUse(TensorId t, uint32_t memory) const;
  /// Evicting this takes a copy out.
  bool mustSave(uint32_t residency) const { return info[residency].written && isLastCopy(plan.residencies[residency]); }
  /// When all that touched it is done.
  int64_t lastTouchNs(uint32_t residency) const { return info[residency].lastTouchNs; }
  /// When its range could be free.
  int64_t availableNs(uint32_t residency) const;
  int64_t copyNs(LinkId link, int64_t bytes) const;
  int64_t copyInNs(TensorId t, uint32_t memory) const {
    return copyNs(index.link(0, memory), index.problem.graph.tensor(t).bytes);
  }
  /// nextUse and copyInNs of a residency's tensor, kept at hand.
  uint32_t nextUse(uint32_t residency) const { return info[residency].nextUse; }
  int64_t copyInNs(uint32_t residency) const { return info[residency].copyNs; }
  int64_t computeClockNs(uint32_t position) const;
  int64_t swapInClockNs(uint32_t memory) const;

private:
  struct Touch {
    uint32_t command, next;
  };
  struct Info {
    bool live = false;
    bool written = false; ///< An operator made the data: no home has it yet.
    uint32_t nextUse = kNever;
    int64_t copyNs = 0;
    uint32_t writer = kNobody; ///< Command; kNobody for initial ones.
    uint32_t touches = kNobody;
    int64_t lastTouchNs = 0;
  };

  uint32_t addResidency(Residency residency);
  void touch(uint32_t residency, uint32_t command);
  void waitForWriter(uint32_t residency);
  void waitForTouches(uint32_t residency);
  /// Takes the range; the next command waits for all who were there.
  void occupy(uint32_t residency);
  uint32_t emit(Command command, int64_t durationNs);
  void emitCopy(uint32_t from, uint32_t to, LinkId link, uint32_t stream);
  uint32_t streamOf(DeviceId device, StreamKind kind) const {
    return streamIds[device.index() * kNumStreamKinds + size_t(kind)];
  }
  /// Where an operator is launched.
  uint32_t streamOf(OperatorId op) const {
    return streamOf(index.problem.placement[op.index()],
                    index.problem.graph.op(op).communicates ? StreamKind::Communicate : StreamKind::Compute);
  }

  int64_t hostOffset(TensorId t, uint32_t position, int64_t bytes, int64_t readyNs, bool &found);
  Status makeHostResidency(TensorId t, uint32_t position, int64_t readyNs, uint32_t &residency);
  /// The host's copy of a tensor, its home included; kNobody where none.
  uint32_t hostCopy(TensorId t);
  bool resideElsewhere(TensorId t, uint32_t memory) const;
  bool isLastCopy(const Residency &r) const;
  Status copyOut(uint32_t residency, uint32_t position);
  Status evict(uint32_t residency, uint32_t position);
  Status fetch(const Want &want, uint32_t memory, uint32_t position, DeviceId device);
  void release(uint32_t residency);
  void releaseIfDone(TensorId t, uint32_t memory);

  /// Fills inPlaceOf for the operator at a position.
  void chooseInPlace(uint32_t position);
  Status runOnHost(uint32_t position);
  Status runOnAccelerator(uint32_t position, Placer &placer);
  Status evictRange(uint32_t memory, int64_t offset, int64_t end, uint32_t position);
  void finish(uint32_t position, uint32_t workspace);
  Status saveOutputs();
  Status restore(const std::vector<Kept> &initial);

  const StepOptions &options;
  Plan plan;
  std::vector<Arena> arenas;
  std::vector<Info> info;
  std::vector<Touch> touchPool;
  std::vector<uint32_t> resident;  ///< Per spot.
  std::vector<uint32_t> cursor;    ///< Per spot: reads done.
  std::vector<uint32_t> remaining; ///< Per tensor: reads to come, anywhere.
  std::vector<uint32_t> streamIds; ///< [device * kNumStreamKinds + kind]
  std::vector<int64_t> clockNs;    ///< Per stream.
  std::vector<int64_t> endNs;      ///< Per command.
  /// [stream * streams + other]: the other's last command waited for.
  std::vector<uint32_t> waited;
  std::vector<uint32_t> waitFor; ///< Per stream, for the command being made.
  std::vector<uint32_t> displaced;
  std::vector<uint8_t> wasEvicted; ///< Per tensor.
  std::vector<uint32_t> initialResidencies;
  std::vector<Kept> initialKept;
  PlaceRequest request;
  std::vector<TensorId> inPlaceOf; ///< Per output at hand: the operand whose place it takes.
  int64_t makespan = 0, copiedBytes = 0;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_STEPPLANNER_H
