//===- Explain.h - Reasons for the decisions of a plan ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Facts about one operator or one tensor of a plan. For an operator, they say why it runs on its device and at its
// time, and what it waited for. For a tensor, they say where it is and why it is copied. Each fact follows from the
// plan file alone, whatever solver made the plan. Operators and tensors have the unique
// names that a plan file gives them (PlanNames). Times are simulated, in nanoseconds. A *stay* of a tensor is one of
// its residencies (Plan.h): an interval in which the tensor is in one memory at one place.
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
  CommandId id; ///< Invalid if there is no command; all other members are then empty.
  bool isCopy = false;
  std::string name; ///< Name of the operator, or of the tensor that is copied.
  /// "operator", or the result of kindOf() for a tensor. Set only if an operator and a tensor both have this name.
  std::string noun;
  std::string from, to; ///< The memories of a copy; empty for a launch.
  /// For a copy: its position, from 1, among the copies of its tensor by ascending start, and the number of these
  /// copies.
  size_t copyNumber = 0, ofCopies = 0;
  std::string device; ///< The device to which the command's stream belongs.
  Interval interval;
};

/// A predecessor of a command, and the reason why it comes first.
struct Dependency {
  enum class Why : uint8_t {
    Data,  ///< The predecessor writes or copies `tensor`, which the command reads.
    State, ///< The predecessor reads the old value of the state `tensor`, which the command overwrites.
    Bytes, ///< The predecessor uses `tensor`, whose bytes the command overwrites; it is empty for a workspace.
    Order, ///< The command needs neither data nor bytes of the predecessor. The predecessor is the previous command of
           ///< the stream, or the command waits for it for the sake of a third command (see Sake).
  };
  /// Explains a wait that neither data nor bytes require. The reason is a dependency that involves a third command: a
  /// later command of the waiting stream depends on the predecessor, or the waiting command depends on an earlier
  /// command of the predecessor's stream.
  struct Sake {
    CommandFact command; ///< The third command.
    /// If true, `command` comes later on the waiting command's stream and depends on the predecessor. If false,
    /// `command` comes earlier on the predecessor's stream, and the waiting command depends on it.
    bool isWaiter = false;
    Why why = Why::Order; ///< The reason of that dependency; `tensor` and `tensorNoun` are as in Dependency.
    std::string tensor, tensorNoun;
  };
  CommandFact command;
  Why why = Why::Order;
  std::string tensor;
  std::string tensorNoun; ///< The result of kindOf() for the tensor, set like CommandFact::noun.
  bool onSameStream = false;
  /// Set only if `why` is Order and the predecessor is on another stream. The third command is searched among the next
  /// 256 commands of the waiting stream and the previous 256 commands of the predecessor's stream; empty if none of
  /// them explains the wait.
  std::optional<Sake> sake;
};

/// A command waits until the addresses that it will overwrite are free. This fact says how many bytes were free at
/// other addresses.
struct RoomFact {
  std::string memory;
  int64_t needBytes = 0;
  /// From the time at which the command waits only for these addresses, to the last use of its result.
  Interval interval;
  int64_t freeBytes = 0;    ///< Bytes within the limit that are free during the whole interval, in all ranges together.
  int64_t largestBytes = 0; ///< Size of the largest of these ranges.
};

/// A command that another command needs and waits for: `command` had not ended when the waiting command's stream became
/// idle. `ns` is the time from that moment to the end of `command`.
struct MissingFact {
  CommandFact command;
  int64_t ns = 0;
};

/// When a command runs, and why it runs then.
struct Timing {
  CommandFact command;
  /// Predecessors by descending end, so the first one determines the start of the command. Ties are broken by `why`.
  std::vector<Dependency> after;
  /// Time for which the command's stream is idle before the command.
  int64_t stallNs = 0;
  /// Time by which the command could end later without making the step longer, if all other commands take as long as
  /// planned.
  int64_t slackNs = 0;
  bool isCritical = false; ///< The command is on criticalPath().
  /// The first command that is delayed if this command ends more than slackNs later; invalid if only the end of the
  /// step is delayed.
  CommandFact slackBy;
  bool isSlackByNext = false; ///< slackBy is the next command of this command's stream.
};

/// A device on which an operator could run.
struct DeviceChoice {
  std::string device;
  int64_t timeNs = 0;
  /// Bytes and time of the copies that the operator would need on this device, if all other operators stay on their
  /// devices. Copies that another operator also needs, and copies of parameters and states, do not count. The time is
  /// the sum of the copies' times.
  int64_t crossingBytes = 0, crossingNs = 0;
};

/// One launch of an operator.
struct LaunchFact {
  Timing timing;
  size_t position = 0, ofPositions = 0; ///< Position among the launches of its stream, from 1, and their number.
  int64_t dataReadyNs = 0;              ///< The time from which all operands are in its device's memory.
  CommandFact dataMaker;  ///< The command that ends at dataReadyNs; invalid if the step begins with all operands there.
  CommandFact stallFor;   ///< The command that accounts for most of timing.stallNs; invalid if there is none.
  int64_t stallForNs = 0; ///< The part of timing.stallNs for which stallFor accounts.
  /// Operators whose launches on the same stream end between dataReadyNs and the start of this launch, in order.
  std::vector<std::string> meanwhile;
  /// Bytes in use in the memory of its device when the launch starts.
  int64_t inUseBytes = 0;
  /// Outputs written over inputs: {output, input}.
  std::vector<std::pair<std::string, std::string>> inPlace;
  /// For a launch beyond the first: the bytes of its results, and the time in which they could be copied from the
  /// host's memory instead, if each copy is alone on the link. 0 for the first launch, and if there is no link.
  int64_t againBytes = 0, copyInsteadNs = 0;
};

struct OperatorFacts {
  std::string name, kind;
  int64_t stepNs = 0; ///< Makespan of the step.
  std::string device, memory;
  bool isFixed = false; ///< Whether the problem fixes its device.
  /// The other operators of its colocation, which must be on the same device.
  std::vector<std::string> colocated;
  DeviceChoice chosen;
  std::vector<DeviceChoice> others; ///< The machine's other devices that compute.
  std::vector<LaunchFact> launches; ///< The launches in issue order.
  int64_t limitBytes = 0;           ///< Limit of the arena of its device's memory; max() without a limit.
  /// Bytes of the homes that count against the limit of this memory; limitBytes does not include these bytes.
  int64_t homeBytes = 0;
  int64_t workspaceBytes = 0;
};

/// The result of simulating the plan without one of its absences (AbsenceFact). In this simulation, the tensor stays in
/// the memory at AbsenceFact::freeOffset during the absence. All other decisions are the same.
struct StayingFact {
  int64_t gainNs = 0; ///< The time by which the step is shorter; negative if it is longer.
  /// `reader`: the first launch that would read the copied-back tensor. `readerAfter`: the command that determines the
  /// start of `reader` in this simulation; invalid if there is none.
  CommandFact reader, readerAfter;
};

/// A set of tensors that compete for room in a memory between steps: each of them could stay there if none of the
/// others did.
struct RivalsFact {
  size_t count = 0;          ///< Number of these tensors.
  size_t together = 0;       ///< Number of those that fit side by side if each is placed where room is left.
  int64_t bytes = 0;         ///< Bytes of all `count` tensors.
  int64_t togetherBytes = 0; ///< Bytes of the `together` tensors.
  bool isAmong = false;      ///< This tensor is one of the `together` tensors.
  /// The time by which the step is shorter if all `together` tensors stay; empty if this was not simulated.
  std::optional<int64_t> gainNs;
};

/// An absence: the time between two stays of a tensor in one memory, and what uses the tensor's bytes in this time.
struct AbsenceFact {
  std::string memory;
  ResidencyId left, back; ///< The stay before the absence, and the stay after it.
  int64_t leftOffset = 0, backOffset = 0;
  bool isOverEnd = false; ///< The tensor is away when the step ends.
  bool isDropped = false; ///< The tensor leaves without a copy, because the memory `keptIn` still has it.
  std::string keptIn;
  int64_t backNs = 0;          ///< End of the command that brings the tensor back: a copy, or a repeated launch.
  int64_t backSlackNs = 0;     ///< Slack of this command (Timing::slackNs).
  CommandFact reader;          ///< The first launch that reads the tensor in `back`; invalid if there is none.
  int64_t readerMissingNs = 0; ///< See CopyFact::readerMissingNs.
  /// The times in which the tensor's data is not in the memory: one interval, or two if the absence spans the end of
  /// the step. The interval at the end of the step comes first. Empty if a copy moves or duplicates the tensor.
  std::vector<Interval> away;
  /// The times in which other tensors may use the tensor's bytes: `away` without the time in which the tensor is
  /// brought back. If a copy moves or duplicates the tensor, others may use the bytes of the first stay, from its end
  /// to the end of the second stay.
  std::vector<Interval> times;
  std::vector<ResidencyId> places; ///< Per interval of `times`: the stay whose bytes others may use.
  int64_t limitBytes = 0;          ///< Limit of the memory's arena; max() without a limit.
  int64_t homeBytes = 0;           ///< See OperatorFacts::homeBytes.
  int64_t needBytes = 0;           ///< Size of the tensor, aligned.
  int64_t mostInUseBytes = 0;      ///< The largest number of bytes in use in the memory at one time of `times`.
  int64_t atNs = 0;                ///< The time at which mostInUseBytes are in use.
  /// The lowest offset at which needBytes within the limit are free during the absence and both stays; empty if
  /// there is none.
  std::optional<int64_t> freeOffset;
  std::optional<StayingFact> staying; ///< Empty if there is no freeOffset, or if this was not simulated.
  /// Only explainStep() sets this, for tensors that are away at the end of the step.
  std::optional<RivalsFact> rivals;
  /// A tensor, or the workspace of an operator, that uses the tensor's bytes during one of `times`.
  struct Guest {
    std::string name; ///< The tensor, or the operator that uses the workspace.
    std::string noun; ///< "operator", or the result of kindOf() for the tensor; set like CommandFact::noun.
    bool isWorkspace = false;
    int64_t bytes = 0;
    int64_t fromNs = 0;
    size_t time = 0; ///< Index in `times`.
  };
  std::vector<Guest> guests; ///< Ordered by interval of `times`, then by ascending start.
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
    Moved,       ///< Copied to the host and back to other addresses while the tensor is still at its first addresses.
    Unread,      ///< Copied out although no command reads the copy.
    Second,      ///< Copied to other addresses while the tensor is still in this memory.
    Returned,    ///< Copied back after it was in this memory earlier in the step.
    Restored,    ///< Copied back only for the next step.
  };
  Timing timing;
  Why why = Why::Input;
  int64_t bytes = 0;
  int64_t aloneNs = 0;        ///< Time of a copy alone on the link, in the link's faster direction.
  std::string producerDevice; ///< With OtherDevice: the device that wrote the tensor.
  std::string newValue; ///< With NotKept, for an updated state: the tensor that the previous step left at its home.
  /// With NotKept (except for an updated state), Returned and Restored: the absence that made the copy necessary. With
  /// Evicted: the absence that follows the copy. With Moved and Second: the two stays, with an empty `away`.
  std::optional<AbsenceFact> absence;
  /// With Returned and Restored: the copy with Why::Evicted that began this absence; invalid if there is none.
  CommandFact swappedOut;
  int64_t sourceEndNs = 0; ///< With Unread: the end of the stay from which the tensor is copied.
  /// Other copies that share the rate of this copy's link or trunk, each with the time during which it and this copy
  /// both run. The longest time is first. Empty if this copy takes less than 1% longer than alone.
  std::vector<MissingFact> sharing;
  /// The first launch that reads the copied data, if any, and the time for which this launch waits only for this copy.
  CommandFact reader;
  int64_t readerWaitNs = 0;
  /// Time from when the stream of `reader` becomes idle to the end of this copy; 0 if the copy ends earlier.
  int64_t readerMissingNs = 0;
  /// The other commands that `reader` needs and that had not ended when its stream became idle, by descending time.
  std::vector<MissingFact> readerMissing;
  CommandFact readerAfter; ///< The command that ends last among those that `reader` must follow.
};

/// One stay of a tensor, that is, one of its residencies.
struct StayFact {
  std::string memory;
  bool isHome = false;
  int64_t offset = 0, bytes = 0;
  Interval interval;
  bool isInitial = false; ///< The stay is there when the step begins.
  bool untilEnd = false;  ///< Its bytes are still there when the next step begins.
  CommandFact maker;      ///< The command that created the stay; invalid if the stay is initial.
  size_t launches = 0;    ///< Number of launches that read the tensor in this stay.
};

/// One of "activation", "parameter", "input", "state", "output" and "new value of a state".
std::string kindOf(const Tensor &tensor);

struct TensorFacts {
  std::string name, type;
  int64_t stepNs = 0; ///< Makespan of the step.
  std::string kind;   ///< kindOf().
  int64_t bytes = 0;
  std::string producer; ///< Empty if no operator writes the tensor.
  std::vector<std::string> consumers;
  std::vector<StayFact> stays;  ///< Homes first, then by ascending start.
  std::vector<CopyFact> copies; ///< The copies by ascending start.
};

/// A time in which a compute stream is idle before a launch.
struct StallFact {
  CommandFact launch;
  int64_t stallNs = 0;
  CommandFact longest; ///< The command of the chain that accounts for most of stallNs; invalid if there is none.
  int64_t longestNs = 0;
  /// The commands that the launch needs and that had not ended when the stream became idle, by descending time.
  std::vector<MissingFact> missing;
  std::vector<CommandId> during; ///< The commands of the chain that run while the stream is idle.
  /// The first entry is the command for which the launch waited. Each further entry is the command for which the
  /// previous entry waited. The chain goes back to a launch of the idle stream or to the start of the step. A command
  /// with several predecessors waited for the one that ends last. The chain has at most kMostLinks links.
  std::vector<Dependency> chain;
  static constexpr size_t kMostLinks = 6;
  size_t moreLinks = 0; ///< The number of links that follow the links in `chain`.
  CommandFact chainEnd; ///< The last command of all links; invalid if the launch waits for nothing.
  /// For the first link that waits for addresses: the bytes that were free at other addresses.
  std::optional<RoomFact> room;
  size_t roomLink = 0; ///< The index of that link in `chain`.
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
  std::vector<StallFact> stalls;       ///< The stalls in the order of the plan's commands.
  std::vector<DeviceTime> deviceTimes; ///< Only devices that launch an operator have one.
  std::vector<CommandId> criticalPath;
  std::vector<CommandId> heldBy; ///< Per command: the predecessor that ends last; invalid if it has no predecessor.
  std::vector<int64_t> slackNs;  ///< Per command: Timing::slackNs.
  /// The tensors that are copied, by ascending id.
  std::vector<std::pair<TensorId, TensorFacts>> copied;
};

/// All operators and tensors of one name.
struct Explanation {
  std::string name;
  std::vector<OperatorFacts> operators;
  std::vector<TensorFacts> tensors;
};

/// Explains each name. A name belongs to an operator, to a tensor or to both; the names of plan files ("#7") are also
/// accepted. Fails, listing the nearest names, on an unknown name. Simulates the plan once, and once more for each copy
/// whose tensor could stay in memory. In addition, takes O(n log n) for each operator or tensor, with n commands and
/// residencies.
Expected<std::vector<Explanation>> explain(const PlanFile &file, const std::vector<std::string> &names);

/// Finds the reasons why streams stall and why tensors are copied. Simulates the plan once, then takes at most O(copies
/// x residencies). Then simulates, for each tensor that could stay in memory, the step in which this tensor stays.
/// Tensors that are brought back with the least slack are simulated first. The simulations end after a fixed number of
/// simulated commands.
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
/// Describes the chain of a stall, and for how long each missing command was missing: "'gpu0' runs nothing for 1.20 us
/// before 'conv1'. The operator waits for the copy of 'w' from 'host' to 'gpu0' (until 9.10 us). The copy of 'w' waits
/// for the addresses of 'x', which 'conv0' uses until 7.20 us."
std::string describe(const StallFact &facts);
/// A sentence such as "Of the 72.72 ms of a step, 'gpu0' computes for 72.14 ms, ..."
std::string describe(const DeviceTime &facts);
/// Describes the rates and latencies of a link: "The link of 'host' and 'gpu0' copies 11.18 GiB/s to 'gpu0' and ..."
std::string describeLink(const Machine &machine, const Link &link);
/// Describes an interval: "from 1.20 us to 3.40 us", or "during the whole step". The times have enough digits to
/// differ: "from 23.1102 ms to 23.1105 ms". An empty interval is described by one time: "at the start of the step",
/// "at 3.40 us". `stepNs` is the makespan of the step.
std::string describeSpan(const Interval &interval, int64_t stepNs);
/// Explains the copy with the index `copy` in one line: why it is made, when the tensor is away, and what uses the
/// tensor's addresses in this time.
std::string whyCopied(const TensorFacts &facts, size_t copy);
/// A title such as "operator 'conv1', conv" and "tensor 'w', parameter of 12.50 KiB".
std::string titleOf(const OperatorFacts &facts);
std::string titleOf(const TensorFacts &facts);

/// The facts and their sentences as JSON.
Json explanationToJson(const Explanation &explanation);

} // namespace sluice

#endif // SLUICE_EXPLAIN_EXPLAIN_H
