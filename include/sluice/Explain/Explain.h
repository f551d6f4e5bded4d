//===- Explain.h - Reasons for the decisions of a plan ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Facts about one operator or one tensor of a plan: why it is in this place, why it runs at
// this time, what it waited for, and why it is copied. Each fact follows from the plan file
// alone, whatever solver made the plan. Names are those of plan files (PlanNames). Times are
// simulated, in nanoseconds.
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

/// The description of a command.
struct CommandFact {
  CommandId id; ///< Invalid: there is no command, and all other members are empty.
  bool isCopy = false;
  std::string name; ///< The operator's; of a copy, the tensor's.
  /// "operator", or kindOf() the tensor; set only if both an operator and a tensor have this name.
  std::string noun;
  std::string from, to; ///< Of a copy: memories.
  /// Of a copy: its position among the copies of its tensor, from 1, by their starts; and their number.
  size_t copyNumber = 0, ofCopies = 0;
  std::string device; ///< Whose stream it runs on.
  Interval interval;
};

/// A predecessor of a command, and the reason why it comes first.
struct Dependency {
  enum class Why : uint8_t {
    Data,  ///< It writes or copies data that the command reads: `tensor`.
    State, ///< It reads the old value of a state that the command overwrites: `tensor`.
    Bytes, ///< It is the last user of bytes that the command overwrites: `tensor`, empty for a workspace.
    Order, ///< Another reason: it is the previous command of the stream, or the plan has a wait that another command
           ///< needs.
  };
  /// Set if `why` is Order and the predecessor is on another stream. If isWaiter: `command` comes later on the waiting
  /// command's stream, and it is the one that must wait for the predecessor. If not isWaiter: `command` comes earlier
  /// on the predecessor's stream, and it is the one that must be waited for.
  struct Sake {
    CommandFact command;
    bool isWaiter = false; ///< See above.
    Why why = Why::Order;
    std::string tensor, tensorNoun;
  };
  CommandFact command;
  Why why = Why::Order;
  std::string tensor;
  std::string tensorNoun; ///< As CommandFact::noun.
  bool onSameStream = false;
  std::optional<Sake> sake;
};

/// A command waits until the addresses that it will overwrite are free. This fact says how many bytes were free at
/// other addresses.
struct RoomFact {
  std::string memory;
  int64_t needBytes = 0;
  /// From the time at which the command waits only for these addresses, to the last use of its result.
  Interval interval;
  int64_t freeBytes = 0;    ///< Within the limit, during the whole interval, in ranges of any size.
  int64_t largestBytes = 0; ///< The largest of these ranges.
};

/// Command B needs command A. A (`command`) had not ended when B's stream became idle; `ns` is the time from then to
/// A's end.
struct MissingFact {
  CommandFact command;
  int64_t ns = 0;
};

/// When a command runs, and why then.
struct Timing {
  CommandFact command;
  /// Predecessors by descending end, so the first one determines the start of the command. Ties are broken by `why`.
  std::vector<Dependency> after;
  /// Time in which its stream was idle before the command.
  int64_t stallNs = 0;
  /// Time by which the command could end later without a longer step, if all other commands take as long as planned.
  int64_t slackNs = 0;
  bool isCritical = false; ///< On criticalPath().
  /// The command that this one would delay first if it ended later; invalid if it would delay the end of the step
  /// first.
  CommandFact slackBy;
  bool isSlackByNext = false; ///< slackBy is the next command of this command's stream.
};

/// A device on which an operator could run.
struct DeviceChoice {
  std::string device;
  int64_t timeNs = 0;
  /// Bytes of the operator's inputs, outputs and caller's data, without parameters and states, that would be copied
  /// between memories if all other operators stay in their places; and the time of these copies one after the other.
  int64_t crossingBytes = 0, crossingNs = 0;
};

/// One launch of an operator.
struct LaunchFact {
  Timing timing;
  size_t position = 0, ofPositions = 0; ///< Among its stream's launches, from 1.
  int64_t dataReadyNs = 0;              ///< When the last of what it reads is in its device's memory.
  CommandFact dataMaker;                ///< What ended then; invalid: all it reads is there when the step begins.
  CommandFact stallFor;                 ///< What takes most of timing.stallNs; invalid: there is none.
  int64_t stallForNs = 0;               ///< The time that stallFor takes of timing.stallNs.
  /// Launches of its stream that ended after dataReadyNs and before its start, in order.
  std::vector<std::string> meanwhile;
  /// Bytes in use in its device's memory when it starts.
  int64_t inUseBytes = 0;
  /// Outputs written over inputs: {output, input}.
  std::vector<std::pair<std::string, std::string>> inPlace;
  /// For a launch beyond the first: the bytes of its results, and the time of copying them from the host's memory
  /// instead, each alone on the link. 0 for the first launch.
  int64_t againBytes = 0, copyInsteadNs = 0;
};

struct OperatorFacts {
  std::string name, kind;
  int64_t stepNs = 0; ///< Of the whole step.
  std::string device, memory;
  bool isFixed = false; ///< Whether the problem fixes its device.
  /// The other operators of its colocation, which must be on the same device.
  std::vector<std::string> colocated;
  DeviceChoice chosen;
  std::vector<DeviceChoice> others; ///< The machine's other devices that compute.
  std::vector<LaunchFact> launches; ///< In their order.
  int64_t limitBytes = 0;           ///< Limit of the arena of its device's memory; max() without a limit.
  int64_t homeBytes = 0;            ///< Homes that count against the memory's limit; limitBytes is without them.
  int64_t workspaceBytes = 0;
};

/// A simulation in which the tensor stays in memory, at AbsenceFact::freeOffset, instead of being away. Nothing else
/// changes.
struct StayingFact {
  int64_t gainNs = 0; ///< The time by which the step is shorter.
  /// `reader`: the first launch that reads the copied-back data. `readerAfter`: the command that determines its start
  /// in this simulation; invalid: none.
  CommandFact reader, readerAfter;
};

/// The tensors that could each stay in a memory between steps while the others are copied.
struct RivalsFact {
  size_t count = 0;          ///< Number of these tensors, each of which fits alone.
  size_t together = 0;       ///< Number of those among them that fit at the same time.
  int64_t bytes = 0;         ///< Of all `count` tensors.
  int64_t togetherBytes = 0; ///< Of the `together` tensors.
  bool isAmong = false;      ///< The tensor is among the `together` tensors that fit at the same time.
  /// The time by which the step is shorter if all `together` tensors stay; none: not simulated.
  std::optional<int64_t> gainNs;
};

/// Bytes that a tensor leaves to others while it is away.
struct AbsenceFact {
  std::string memory;
  ResidencyId left, back; ///< The stays before it and after it.
  int64_t leftOffset = 0, backOffset = 0;
  bool isOverEnd = false; ///< It is away when the step ends.
  bool isDropped = false; ///< It leaves without a copy, because another memory keeps it: `keptIn`.
  std::string keptIn;
  int64_t backNs = 0;          ///< When the copy that brings it back has ended.
  int64_t backSlackNs = 0;     ///< That copy's slack.
  CommandFact reader;          ///< The first launch that reads it after that, if any.
  int64_t readerMissingNs = 0; ///< As CopyFact's.
  /// When its data is not in the memory: one interval, or two if the absence spans the end of the step; the interval at
  /// the end of the step comes first. Empty where a copy moves or duplicates it.
  std::vector<Interval> away;
  /// When others may have its bytes: `away`, less the time in which the copy back writes them. Of a copy that moves or
  /// duplicates the tensor: from the end of the first stay to the end of the second.
  std::vector<Interval> times;
  std::vector<ResidencyId> places; ///< Per interval of `times`: the stay whose bytes others may use.
  int64_t limitBytes = 0;          ///< Of the memory's arena; max() where there is none.
  int64_t homeBytes = 0;           ///< As OperatorFacts::homeBytes.
  int64_t needBytes = 0;           ///< The tensor's, aligned.
  int64_t mostInUseBytes = 0;      ///< The most bytes that others use at one time of `times`.
  int64_t atNs = 0;                ///< That time.
  /// An offset at which needBytes within the limit were free all the time.
  std::optional<int64_t> freeOffset;
  std::optional<StayingFact> staying; ///< None where there is no offset, or it was not simulated.
  std::optional<RivalsFact>
      rivals; ///< Only for tensors that are away at the end of the step; only explainStep() fills it.
  /// What lay on the tensor's bytes meanwhile, in the order in which it came: a tensor, or an operator's workspace.
  struct Guest {
    std::string name;
    std::string noun; ///< As CommandFact::noun.
    bool isWorkspace = false;
    int64_t bytes = 0;
    int64_t fromNs = 0;
    size_t time = 0; ///< Index in `times`.
  };
  std::vector<Guest> guests;
};

/// One copy of a tensor.
struct CopyFact {
  enum class Why : uint8_t {
    Input,       ///< The caller supplies the tensor in host memory.
    Output,      ///< The caller reads the tensor in host memory.
    NewState,    ///< The next step reads the tensor at the home of its state.
    OtherDevice, ///< The tensor is written in one memory and read in another.
    NotKept,     ///< A parameter or state that is not in this memory when the step begins.
    Evicted,     ///< Copied out, away for some time, and copied back later.
    Moved,       ///< Copied to the host and from there to other addresses while it is still at its first address.
    Unread,      ///< Copied out although no command reads the copy.
    Second,      ///< A copy to other addresses while an earlier one is still in this memory.
    Returned,    ///< Copied back after it was in this memory earlier in the step.
    Restored,    ///< Copied back only for the next step.
  };
  Timing timing;
  Why why = Why::Input;
  int64_t bytes = 0;
  int64_t aloneNs = 0;        ///< Time of the copy if it were alone on the link.
  std::string producerDevice; ///< With OtherDevice: the device that wrote the tensor.
  std::string newValue; ///< With NotKept, for an updated state: the tensor that the previous step left at its home.
  /// The absence that made the copy necessary, with NotKept (except for an updated state), Returned and Restored. With
  /// Evicted: the absence that the copy back ends. With Moved and Second, between the two stays; it has no `away`.
  std::optional<AbsenceFact> absence;
  CommandFact
      swappedOut; ///< With Returned and Restored: the copy (with Why::Evicted) that began this absence; invalid: none.
  int64_t sourceEndNs = 0; ///< With Unread: when its stay in the memory that it is copied from ends.
  /// Other copies that share its link during it, and for how long, the longest first. Empty where it takes less than 1
  /// % longer than alone.
  std::vector<MissingFact> sharing;
  /// The first launch that reads the copied data, if any, and the time for which it waits only for this copy.
  CommandFact reader;
  int64_t readerWaitNs = 0;
  int64_t readerMissingNs = 0; ///< From when the launch's stream fell idle to the copy's end; 0: it did not wait.
  std::vector<MissingFact> readerMissing; ///< What else had not ended then, the longest first.
  CommandFact readerAfter;                ///< Of all commands that the launch must follow, the one that ends last.
};

/// One stay of a tensor in one memory.
struct StayFact {
  std::string memory;
  bool isHome = false;
  int64_t offset = 0, bytes = 0;
  Interval interval;
  bool isInitial = false, untilEnd = false;
  CommandFact maker;   ///< The command that created the stay; invalid if the stay is initial.
  size_t launches = 0; ///< Number of launches that read the tensor in this stay.
};

/// "activation", "parameter", "input", "state", "output", "new value of a state".
std::string kindOf(const Tensor &tensor);

struct TensorFacts {
  std::string name, type;
  int64_t stepNs = 0; ///< Of the whole step.
  std::string kind;   ///< kindOf().
  int64_t bytes = 0;
  std::string producer; ///< Empty: none.
  std::vector<std::string> consumers;
  std::vector<StayFact> stays;  ///< By start; homes first.
  std::vector<CopyFact> copies; ///< In their order.
};

/// A time in which a compute stream is idle before a launch.
struct StallFact {
  CommandFact launch;
  int64_t stallNs = 0;
  CommandFact longest; ///< The command of the chain that takes most of stallNs; invalid: none.
  int64_t longestNs = 0;
  /// What the launch reads or waits for that had not ended when the stream fell idle, the longest first.
  std::vector<MissingFact> missing;
  std::vector<CommandId> during; ///< What of the chain runs while the stream is idle.
  /// The command that the launch waited for, the command that this one waited for, and so on, back to a launch of the
  /// idle stream or the start of the step. A command waits for the one that ends last of those that it is ordered
  /// after. The chain has at most kMostLinks links.
  std::vector<Dependency> chain;
  static constexpr size_t kMostLinks = 6;
  size_t moreLinks = 0; ///< The number of links that follow those of `chain`.
  CommandFact chainEnd; ///< The last command of all links; invalid if the stall waits for nothing.
  /// The addresses that were free elsewhere for the first link that waits for addresses.
  std::optional<RoomFact> room;
  size_t roomLink = 0; ///< The number of that link.
};

/// The division of the step's time on a device that computes.
struct DeviceTime {
  std::string device;
  int64_t stepNs = 0, computeNs = 0;
  int64_t stallNs = 0;     ///< The time in which the device is idle before launches.
  int64_t copyStallNs = 0; ///< The part of `stallNs` in which a launch waits for a copy.
  int64_t restNs = 0;      ///< The time after the device's last launch.
};

/// The facts about a whole step.
struct StepFacts {
  std::vector<StallFact> stalls;       ///< In the order of the plan's commands.
  std::vector<DeviceTime> deviceTimes; ///< Only devices that launch an operator have one.
  std::vector<CommandId> criticalPath;
  std::vector<CommandId> heldBy; ///< Per command: what it starts after; invalid: the start of the step.
  std::vector<int64_t> slackNs;  ///< Per command: Timing::slackNs.
  /// The tensors that are copied, by their ids.
  std::vector<std::pair<TensorId, TensorFacts>> copied;
};

/// All operators and tensors of one name.
struct Explanation {
  std::string name;
  std::vector<OperatorFacts> operators;
  std::vector<TensorFacts> tensors;
};

/// Explains each name, which is that of an operator, a tensor or both. Names of plan files ("#7") are also accepted.
/// Fails, listing the nearest names, on an unknown name. Simulates once, then takes O(n log n) for each operator or
/// tensor, with n commands and residencies.
Expected<std::vector<Explanation>> explain(const PlanFile &file, const std::vector<std::string> &names);

/// Why the streams stall and tensors are copied. Simulates the plan once, then takes at most O(copies x residencies).
/// It also simulates, for each tensor that could stay in memory, the step in which it stays. It starts with the tensors
/// of least slack and stops after a fixed number of commands.
StepFacts explainStep(const PlanFile &file);

/// A sentence and its topic: "here", "then", "after", "memory", "copied", "again".
struct Sentence {
  std::string about;
  std::string text;
};
std::vector<Sentence> describe(const OperatorFacts &facts);
std::vector<Sentence> describe(const TensorFacts &facts);
/// The sentences of describe() that are about copies, per copy. The first one gives the reason, without the time and
/// the memories of the copy.
std::vector<std::vector<Sentence>> describeCopies(const TensorFacts &facts);
/// "'gpu0' runs nothing for 1.20 us before 'conv1'. The operator waits for the copy of 'w' from 'host' to 'gpu0' (until
/// 9.10 us). The copy of 'w' waits for the addresses of 'x', which 'conv0' uses until 7.20 us.": the chain, and what
/// was missing how long.
std::string describe(const StallFact &facts);
/// "Of the 72.72 ms of a step, 'gpu0' computes for 72.14 ms, ..."
std::string describe(const DeviceTime &facts);
/// "The link of 'host' and 'gpu0' copies 11.18 GiB/s to 'gpu0' and ...": its rates and latencies.
std::string describeLink(const Machine &machine, const Link &link);
/// "from 1.20 us to 3.40 us", with as many digits as tell the two apart: "from 23.1102 ms to 23.1105 ms"; "during the
/// whole step"; of an empty interval the time alone: "at the start of the step", "at 3.40 us". `stepNs` is the
/// length of the step.
std::string describeSpan(const Interval &interval, int64_t stepNs);
/// The reason of one of the copies in one line: why it is made, when the tensor is away, and who has its addresses
/// then.
std::string whyCopied(const TensorFacts &facts, size_t copy);
/// "operator 'conv1', conv" and "tensor 'w', parameter of 12.50 KiB".
std::string titleOf(const OperatorFacts &facts);
std::string titleOf(const TensorFacts &facts);

/// The facts and their sentences as JSON.
Json explanationToJson(const Explanation &explanation);

} // namespace sluice

#endif // SLUICE_EXPLAIN_EXPLAIN_H
