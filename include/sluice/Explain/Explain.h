//===- Explain.h - Why a plan is as it is -----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What a plan, its problem and its simulated times say about one operator or one
// tensor: why here, why then, what it waited for, why it is copied. Nothing of the
// search is known here; each fact follows from the plan file, whoever made the plan.
// Names are those of plan files (PlanNames); times are simulated, in nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_EXPLAIN_EXPLAIN_H
#define SLUICE_EXPLAIN_EXPLAIN_H

#include "sluice/Search/PlanFile.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Json.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// A command, as it is told.
struct CommandFact {
  CommandId id; ///< Invalid: none; all else is then empty.
  bool isCopy = false;
  std::string name;     ///< The operator's; of a copy, the tensor's.
  std::string from, to; ///< Of a copy: memories.
  std::string device;   ///< Whose stream it runs on.
  Interval interval;
};

/// What a command is ordered after.
struct Dependency {
  enum class Why : uint8_t {
    Data,  ///< It makes or copies what the command reads: `tensor`.
    State, ///< It reads the old value of a state that the command overwrites: `tensor`.
    Bytes, ///< It is the last to touch bytes that the command overwrites: `tensor`, empty for a workspace.
    Order, ///< None of these: the command before on the stream, or a wait that others of its stream are behind.
  };
  CommandFact command;
  Why why = Why::Order;
  std::string tensor;
  bool onSameStream = false;
};

/// When a command runs, and why then.
struct Timing {
  CommandFact command;
  /// The latest to end first, so that the first is what the command started after; of those that end together, by
  /// `why`.
  std::vector<Dependency> after;
  /// How long its stream did nothing before it.
  int64_t stallNs = 0;
  /// How much later it could end, and all others take as long as they do, without a longer step.
  int64_t slackNs = 0;
  bool isCritical = false; ///< On criticalPath().
};

/// A device that an operator could run on.
struct DeviceChoice {
  std::string device;
  int64_t timeNs = 0;
  /// Inputs, outputs and the caller's data of the operator that would be copied between memories with all other
  /// operators where they are, and the time of these copies one after the other; parameters and states apart.
  int64_t crossingBytes = 0, crossingNs = 0;
};

/// One launch of an operator.
struct LaunchFact {
  Timing timing;
  size_t position = 0, ofPositions = 0; ///< Among its stream's launches, from 1.
  int64_t dataReadyNs = 0;              ///< When the last of what it reads is in its device's memory.
  CommandFact dataMaker;                ///< What ended then; invalid: all it reads is there when the step begins.
  CommandFact stallFor;                 ///< What takes most of timing.stallNs; invalid: there is none.
  /// Launches that ran on its stream between that time and its start, in their order.
  std::vector<std::string> meanwhile;
  /// Of its device's memory, when it starts.
  int64_t inUseBytes = 0;
  /// Outputs written over inputs: {output, input}.
  std::vector<std::pair<std::string, std::string>> inPlace;
  /// Bytes of results that a launch beyond the first made anew, and how long it takes to copy them from the host's
  /// memory instead, each alone on the link; 0 of the first launch.
  int64_t againBytes = 0, copyInsteadNs = 0;
};

struct OperatorFacts {
  std::string name, kind;
  std::string device, memory;
  bool isFixed = false; ///< The problem places it.
  /// Others of its colocation, which have to be on the same device.
  std::vector<std::string> colocated;
  DeviceChoice chosen;
  std::vector<DeviceChoice> others; ///< The machine's other devices that compute.
  std::vector<LaunchFact> launches; ///< In their order.
  int64_t limitBytes = 0;           ///< Of its device's memory; max() where there is none.
  int64_t workspaceBytes = 0;
};

/// Bytes that a tensor leaves to others while it is away.
struct AbsenceFact {
  std::string memory;
  std::vector<Interval> times; ///< One, or two around the end of the step, the later first.
  int64_t limitBytes = 0;      ///< The memory's; max() where there is none.
  int64_t needBytes = 0;       ///< The tensor's, aligned.
  int64_t mostInUseBytes = 0, atNs = 0;
  /// An offset at which needBytes within the limit were free all the time.
  std::optional<int64_t> freeOffset;
  /// What lay on the tensor's bytes meanwhile, by descending bytes: a tensor, or an operator's workspace.
  struct Guest {
    std::string name;
    bool isWorkspace = false;
    int64_t bytes = 0;
  };
  std::vector<Guest> guests;
};

/// One copy of a tensor.
struct CopyFact {
  enum class Why : uint8_t {
    Input,       ///< The caller gives it in host memory.
    Output,      ///< The caller reads it in host memory.
    NewState,    ///< The next step reads it where its state's home is.
    OtherDevice, ///< Made in one memory, read in another.
    NotKept,     ///< A parameter or state that is not in this memory when the step begins.
    Evicted,     ///< Out, its bytes needed; a later copy brings it back.
    Returned,    ///< It was there earlier in the step.
    Restored,    ///< Returned, for the next step alone.
  };
  Timing timing;
  Why why = Why::Input;
  int64_t bytes = 0;
  int64_t aloneNs = 0;        ///< With the link to itself.
  std::string producerDevice; ///< OtherDevice: where it was made.
  std::string newValue; ///< NotKept, of a state that is updated: the tensor that the step before left at its home.
  /// NotKept (but of a state that is updated), Returned, Restored: why the copy was needed. Evicted: that of the copy
  /// back.
  std::optional<AbsenceFact> absence;
  /// The first launch that reads what was copied, if any; how long that launch waits for this copy and nothing else.
  CommandFact reader;
  int64_t readerWaitNs = 0;
  CommandFact readerAfter; ///< What that launch starts after: the last to end of all that it is ordered after.
};

/// One stay of a tensor in one memory.
struct StayFact {
  std::string memory;
  bool isHome = false;
  int64_t offset = 0, bytes = 0;
  Interval interval;
  bool isInitial = false, untilEnd = false;
  CommandFact maker;   ///< Invalid id where the stay is initial.
  size_t launches = 0; ///< That read it there.
};

/// "activation", "parameter", "input", "state", "output", "new value of a state".
std::string kindOf(const Tensor &tensor);

struct TensorFacts {
  std::string name, type;
  std::string kind; ///< kindOf().
  int64_t bytes = 0;
  std::string producer; ///< Empty: none.
  std::vector<std::string> consumers;
  std::vector<StayFact> stays;  ///< By start; homes first.
  std::vector<CopyFact> copies; ///< In their order.
};

/// The time in which a compute stream does nothing before a launch.
struct StallFact {
  CommandFact launch;
  int64_t stallNs = 0;
  /// What the launch waited for, what that waited for, and so on back to where the stream fell idle: of each command
  /// the last to end of those that it is ordered after. Then what the last of them waited for, unless that made its
  /// data.
  std::vector<Dependency> chain;
};

/// What people ask of a whole step.
struct StepFacts {
  std::vector<StallFact> stalls; ///< In the order of the plan's commands.
  /// The tensors that are copied, by their ids.
  std::vector<std::pair<TensorId, TensorFacts>> copied;
};

/// All operators and tensors of one name.
struct Explanation {
  std::string name;
  std::vector<OperatorFacts> operators;
  std::vector<TensorFacts> tensors;
};

/// What the plan says about each name, an operator's or a tensor's or both. A name of plan files ("#7") is known too.
/// Fails, with the nearest names, where nothing has one. Simulates once; then O(commands + residencies) a thing, times
/// log.
Expected<std::vector<Explanation>> explain(const PlanFile &file, const std::vector<std::string> &names);

/// Why the streams stall and tensors are copied. Simulates once; then O(copies x residencies) at most.
StepFacts explainStep(const PlanFile &file);

/// A sentence, and what it is about: "here", "then", "after", "memory", "copied", "again".
struct Sentence {
  std::string about;
  std::string text;
};
std::vector<Sentence> describe(const OperatorFacts &facts);
std::vector<Sentence> describe(const TensorFacts &facts);
/// "'gpu0' runs nothing for 1.20 us before 'conv1': it waits for the copy of 'w' from 'host' to 'gpu0', which waits for
/// the bytes of 'x', which 'conv0' uses until 3.40 us." At most four links of the chain.
std::string describe(const StallFact &facts);
/// Why a tensor is copied and could not stay, in one line of clauses without repetitions; empty: it is not copied.
std::string whyCopied(const TensorFacts &facts);
/// "operator 'conv1', conv" and "tensor 'w', parameter of 12.50 KiB".
std::string titleOf(const OperatorFacts &facts);
std::string titleOf(const TensorFacts &facts);

/// Facts, and the sentences with them.
Json explanationToJson(const Explanation &explanation);

} // namespace sluice

#endif // SLUICE_EXPLAIN_EXPLAIN_H
