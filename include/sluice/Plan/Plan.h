//===- Plan.h - Every decision, as data -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A plan is an exact program for one step. *Residencies* say where a tensor's
// bytes are; *commands* run operators and copies. Commands of one stream run in
// the order listed; across streams only `waits` order them. Nothing else orders
// anything, so two residencies whose addresses overlap are safe only if every
// command that touches the earlier one happens before the command that creates
// the later one. The validator proves that.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_PLAN_H
#define SLUICE_PLAN_PLAN_H

#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"

#include <string>
#include <vector>

namespace sluice {

/// What part of a memory a residency is in.
enum class Segment : uint8_t {
  Arena, ///< Planned: [offset, offset + bytes) of the memory's arena.
  Home,  ///< Unplanned: the parameter file or its mapping, a caller's input or output
         ///< buffer, or the state store. In the host's memory; those of parameters
         ///< and states may be in a file. Offset is 0.
};

/// One stay of one tensor's data in one memory. Addresses are half-open.
struct Residency {
  TensorId tensor; ///< Invalid: workspace.
  MemoryId memory;
  Segment segment = Segment::Arena;
  int64_t offset = 0; ///< Multiple of kArenaAlignment.
  int64_t bytes = 0;  ///< At least the tensor's; what the address range takes.
  /// Data is there before the step's first command: a home, or a parameter or
  /// state kept on its device between steps.
  bool initial = false;
};

enum class CommandKind : uint8_t {
  Launch, ///< Run `op` on `device`: reads `reads`, writes `writes`.
  Copy,   ///< Copy reads[0] to writes[0] over `link`; same tensor.
};

/// Each device owns a stream of each kind; a copy runs on a stream of the device at
/// its accelerator end, an operator that communicates beside those that compute. Copies
/// from and to files are on the file streams of any device.
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
  /// Launch: in the operator's input order. Copy: the source.
  std::vector<ResidencyId> reads;
  /// Launch: in the operator's output order, then its workspace if it has one.
  /// Copy: the destination.
  std::vector<ResidencyId> writes;
  /// Commands of other streams that must be complete; ids smaller than this
  /// command's own.
  std::vector<CommandId> waits;
};

struct Plan {
  /// Per operator.
  std::vector<DeviceId> placement;
  std::vector<Stream> streams;
  std::vector<Residency> residencies;
  /// In issue order, a topological order of all dependencies.
  std::vector<Command> commands;
  /// Arena bytes per memory; every arena residency ends within.
  std::vector<int64_t> arenaBytes;

  /// How it was made: solver names, seed, evaluations, whether a clock stopped
  /// the search (and so another run may differ).
  std::string solver;
  uint64_t seed = 0;
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  int64_t bytesCopied(const Graph &graph) const;
  /// Copied from the host's memory, and to it.
  int64_t bytesSwappedIn(const Graph &graph) const;
  int64_t bytesSwappedOut(const Graph &graph) const;
  /// Copied from files, and to files.
  int64_t bytesRead(const Graph &graph, const Machine &machine) const;
  int64_t bytesWritten(const Graph &graph, const Machine &machine) const;
  /// Per memory: its arena, and where the machine has files, for the host's memory the homes there too.
  std::vector<int64_t> bytesUsed(const Graph &graph, const Machine &machine) const;
  /// The operator of every launch but the first of each, as issued.
  std::vector<OperatorId> computedAgain() const;
};

/// Independent of every solver, O((commands + residencies) log) times the number
/// of streams, run always. The first violation found is named. It proves:
///
/// - every operator is launched, on the compute stream of its placed device (which
///   computes) or, if it communicates, on the communication stream there, with its
///   operands in its own order in that device's memory; those that may be repeated
///   (Graph::isRepeatable) as often as the plan likes, each launch with results of
///   its own, all others once;
/// - all that communicates is on one stream, so that ranks that run one plan come to
///   it in one order;
/// - a copy joins its link's two memories and moves one tensor, on a stream of a
///   device at one of its ends (not the host's, where the other end is another), or
///   where one end is a file, on a file stream;
/// - every residency is written at most once, an initial one never, and every
///   read happens after that write;
/// - initial residencies are homes of tensors no operator writes, or parameters
///   and states kept in an arena; only tensors that have a home (parameters,
///   inputs, states, outputs, new values of states) have a Home residency, one;
/// - every arena range is within its arena, and arenas within capacity; where the
///   machine has files, the host's arena together with the homes in its memory;
/// - overlapping ranges are ordered: all that touches one happens before the
///   command that creates the other. That command itself may read the earlier
///   one only by an `inPlace` pair of its operator, at the same offset;
/// - when the step ends, outputs are in their homes, and every place that a state
///   was in initially holds its new value (its home, if it was initial nowhere);
///   initial arena residencies of tensors never updated hold what they held. So
///   the next step may start. A place may be reused and refilled in between.
///
/// The homes of a state and of its new value are one place, as two residencies: all
/// that read the old one happen before the command that writes the new one, which
/// may itself read the old one.
Status validatePlan(const Graph &graph, const Machine &machine, const Plan &plan);

} // namespace sluice

#endif // SLUICE_PLAN_PLAN_H
