//===- Plan.h - The plan of one step ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A plan is an exact program for one step. *Residencies* say where a tensor's bytes are; *commands* run operators and
// copies. Commands of one stream run in the order listed; across streams only `waits` order them. There is no other
// order. Two residencies whose addresses overlap are therefore safe only if every command that touches the earlier
// residency happens before the command that creates the later one. validatePlan() proves this.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_PLAN_H
#define SLUICE_PLAN_PLAN_H

#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"

#include <string>
#include <vector>

namespace sluice {

/// The part of a memory in which a residency is.
enum class Segment : uint8_t {
  Arena, ///< The plan chooses the address: [offset, offset + bytes) of the memory's arena.
  Home,  ///< Outside of the arena: the parameter file or its mapping, a caller's input or
         ///< output buffer, or the state store. The homes of inputs and outputs are in the
         ///< host's memory. The homes of parameters and states are in the host's memory or in
         ///< a file. A plan with homes of states in files can be simulated, but not compiled. (The option `--spill` is
         ///< different: the plan has states in memory, and the runtime backs this memory by files.) The offset is 0.
};

/// One interval in which one tensor's data is in one memory at one place. The address range
/// [offset, offset + bytes) is half-open.
struct Residency {
  TensorId tensor; ///< Invalid if the slot is a workspace.
  MemoryId memory;
  Segment segment = Segment::Arena;
  int64_t offset = 0; ///< Multiple of kArenaAlignment.
  int64_t bytes = 0;  ///< Size of the address range; at least the size of the tensor.
  /// True if the data is in this place before the first command of the step. The place is then a home, or an arena in
  /// which a parameter or state stays between steps.
  bool initial = false;
};

enum class CommandKind : uint8_t {
  Launch, ///< Run `op` on the device of the stream: reads `reads`, writes `writes`.
  Copy,   ///< Copy reads[0] to writes[0] over `link`; both are of one tensor.
};

/// Each device has at most one stream of each kind. A copy into the memory of an accelerator
/// may run on the SwapIn stream of this accelerator, and a copy out of it on the SwapOut stream.
/// A copy between two accelerators therefore runs on a stream of either. A copy from a file runs
/// on the FileIn stream of any device, and a copy to a file on a FileOut stream. Operators that
/// communicate may run on a Communicate stream, at the same time as operators that compute.
enum class StreamKind : uint8_t { Compute, SwapIn, SwapOut, Communicate, FileIn, FileOut };
constexpr size_t kNumStreamKinds = 6;

struct Stream {
  DeviceId device;
  StreamKind kind = StreamKind::Compute;
};

struct Command {
  CommandKind kind = CommandKind::Launch;
  StreamId stream;
  OperatorId op; ///< Launch only.
  LinkId link;   ///< Copy only.
  /// For a launch, the inputs in the operator's order; for a copy, the source.
  std::vector<ResidencyId> reads;
  /// For a launch, the outputs in the operator's order, then its workspace if it has one;
  /// for a copy, the destination.
  std::vector<ResidencyId> writes;
  /// Commands of other streams that must be complete; their ids are smaller than the id of this command.
  std::vector<CommandId> waits;
};

struct Plan {
  /// Per operator: the device that runs it.
  std::vector<DeviceId> placement;
  std::vector<Stream> streams;
  std::vector<Residency> residencies;
  /// The commands in issue order, which is a topological order of all dependencies.
  std::vector<Command> commands;
  /// Arena bytes per memory; every arena residency ends within them.
  std::vector<int64_t> arenaBytes;

  /// How the plan was made: the solver's name, its seed and its number of evaluations. If a clock
  /// stopped the search, another run may give another plan.
  std::string solver;
  uint64_t seed = 0;
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  int64_t bytesCopied(const Graph &graph) const;
  /// Bytes copied from and to the host's memory.
  int64_t bytesSwappedIn(const Graph &graph) const;
  int64_t bytesSwappedOut(const Graph &graph) const;
  /// Bytes copied from and to files.
  int64_t bytesRead(const Graph &graph, const Machine &machine) const;
  int64_t bytesWritten(const Graph &graph, const Machine &machine) const;
  /// Per memory: the bytes of its arena. If the machine has files, the host's memory also counts its homes.
  std::vector<int64_t> bytesUsed(const Graph &graph, const Machine &machine) const;
  /// The operators that are launched again: one entry for each launch after an operator's first,
  /// in issue order.
  std::vector<OperatorId> computedAgain() const;
};

/// Checks a plan independently of every solver. With n commands and residencies and s streams
/// the time is O(s n log n). The message names the first violation. The check proves:
///
/// - every operator is placed on a device that computes. It is launched on the compute stream
///   of this device; an operator that communicates may be on its Communicate stream instead. The
///   operands are in the operator's order and in the device's memory. Operators that may be repeated
///   (Graph::isRepeatable) may be launched several times, each time with results of their
///   own; all others are launched once;
/// - all operators that communicate are on one stream, so that all ranks that run the plan
///   reach them in the same order. With Graph::keepsOrder, this is the order of their ids;
/// - a copy moves one tensor between the two memories of its link. If one end is a file, it is on a file stream.
///   Otherwise the copy is on a stream of a device whose memory is one of the ends. A copy from or to the host's memory
///   is on a stream of a device whose memory is the other end;
/// - every residency is written at most once, an initial residency is never written, and every read happens after the
///   write;
/// - an initial residency is the home of a tensor that no operator writes, or the place in an arena where a parameter
///   or state stays between steps. Only parameters, inputs, states, outputs and new values of states have a Home
///   residency, at most one each;
/// - every arena range is within its arena, and every arena within the capacity of its memory.
///   If the machine has files, the homes in the host's memory count with the host's arena;
/// - overlapping ranges are ordered: all commands that touch the earlier one happen before
///   the command that creates the later one. The creating command may read the earlier range only
///   if it works in place: Operator::inPlace allows its operator to write the result over the
///   operand, and the two ranges have the same offset;
/// - when the step ends, all data is where the next step expects it. Outputs are in their homes. The place of each
///   initial residency in an arena holds its tensor again, or the tensor's new value if the tensor is a state that the
///   step updates. During the step, such a place may hold other data. The home of an updated state also
///   holds the new value, unless the plan keeps the state only in an arena: the state then has an initial
///   residency there and no residency in its home;
/// - the home of a state and the home of its new value are the same place but two residencies.
///   All commands that read the old value there happen before the command that writes the new
///   value. This command itself may read the old value.
Status validatePlan(const Graph &graph, const Machine &machine, const Plan &plan);
/// The same for a graph and a machine that have passed their check(). Planners validate thousands of plans of one
/// graph.
Status validatePlanOfChecked(const Graph &graph, const Machine &machine, const Plan &plan);

} // namespace sluice

#endif // SLUICE_PLAN_PLAN_H
