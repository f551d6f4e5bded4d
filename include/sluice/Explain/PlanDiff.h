//===- PlanDiff.h - What differs between two plans --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares two plan files A and B. Both plan the same model with different limits, solvers or
// machines, or they plan models that share some operators. Operators, tensors, devices and
// memories are the same in both plans if they have the same names in the files (PlanNames).
// Times are simulated; each plan is simulated with the costs of its own file.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_EXPLAIN_PLANDIFF_H
#define SLUICE_EXPLAIN_PLANDIFF_H

#include "sluice/Explain/Explain.h"

#include <array>

namespace sluice {

/// The value in plan A, and the value in plan B.
using Pair = std::array<int64_t, 2>;

struct PlanDiff {
  /// One of the settings with which the plans were made: model, machine, solver, seed, number of evaluations, and end
  /// of the search ("time limit" if the clock ended the search, "own" if the search ended by itself).
  struct Setting {
    std::string name;
    std::array<std::string, 2> values;
    bool differs() const { return values[0] != values[1]; }
  };
  enum class Unit : uint8_t { Time, Bytes, Limit, Count };
  /// A number that describes a whole plan, such as the makespan.
  struct Figure {
    std::string name;
    Unit unit = Unit::Time;
    Pair values{};
    std::string memory; ///< The memory whose bytes the figure counts; empty if the figure belongs to the whole step.
    std::array<bool, 2> isKnown{true, true}; ///< False if the plan's machine lacks `memory`; the value is then 0.
    bool differs() const { return values[0] != values[1]; }
    /// Whether a report shows the figure. It omits equal limits, and other figures that are 0 in both plans.
    bool isShown() const { return differs() || (values[0] != 0 && unit != Unit::Limit); }
  };
  /// The division of a step's time on the compute stream of a device.
  struct DeviceTime {
    std::string device;
    Pair computeNs{};   ///< Time in which the stream runs operators.
    Pair copyWaitNs{};  ///< Idle time in which the stream waits for copies.
    Pair otherWaitNs{}; ///< Idle time in which the stream waits for operators of other streams.
    Pair restNs{};      ///< Time from the end of the last operator to the end of the step.
  };
  /// An operator that runs on different devices in the two plans.
  struct Placed {
    std::string op;
    std::array<std::string, 2> devices;
    Pair timeNs{}; ///< Time of the operator on the device of each plan.
  };
  /// An operator whose position relative to other operators of the same device differs between the plans. The first
  /// launch of an operator counts.
  struct Reordered {
    std::string op, device;
    Pair position{}; ///< Position among the operators that are on this device in both plans, from 1.
    Pair startNs{};
  };
  /// A tensor that both plans have, and whose number of copies in at least one direction differs between them.
  struct Copied {
    std::string tensor, kind;
    int64_t bytes = 0; ///< Size of the tensor in B.
    /// Number of copies towards the accelerators (from a file to another memory, or from the host's memory to an
    /// accelerator), and number of copies in the opposite direction: see copyDirection().
    Pair in{}, out{};
    Pair between{};        ///< Number of copies between accelerators, or between files.
    int64_t moreBytes = 0; ///< Bytes of all copies in B minus bytes of all copies in A.
  };
  /// A parameter or state that only one of the plans keeps in a memory from the previous step until it is read there.
  struct Kept {
    std::string tensor, memory;
    int64_t bytes = 0; ///< Size of the tensor in B.
    bool inB = false;  ///< Whether plan B keeps the tensor; if false, plan A does.
  };
  /// An operator that the plans launch different numbers of times.
  struct Again {
    std::string op;
    Pair launches{};
    int64_t timeNs = 0; ///< Time of one launch, in the plan with more launches.
  };
  /// An operator whose time differs between the plans although both run it on the same device.
  struct Cost {
    std::string op, device;
    Pair timeNs{};
  };
  /// An operator before whose launches the stream is idle for a longer time in one plan than in the other.
  struct Waiting {
    std::string op;
    Pair waitNs{}; ///< Idle time before all launches of the operator.
    /// The cause of the longest wait, in the plan with the greater waitNs. The longest wait is the longest idle time
    /// before a single launch of the operator. `longest` is the command that accounts for most of this time.
    CommandFact longest;
  };

  std::array<std::string, 2> labels; ///< Names of the plans, such as the paths of their files.
  std::vector<Setting> settings;
  std::vector<Figure> figures; ///< The first figure is the makespan.
  std::vector<DeviceTime> devices;
  /// Per plan: the names of operators and tensors that the other plan's graph does not have.
  std::array<std::vector<std::string>, 2> onlyOperators, onlyTensors;
  size_t sharedOperators = 0, sharedTensors = 0;
  bool runsAgain = false;      ///< At least one of the plans runs an operator more than once.
  std::vector<Cost> costs;     ///< Ordered by descending difference.
  std::vector<Placed> placed;  ///< Ordered by descending time in A.
  size_t orderedOperators = 0; ///< Number of operators that are on the same device in both plans.
  /// The smallest set of operators such that both plans have all other operators in the same order; by descending
  /// difference of positions.
  std::vector<Reordered> reordered;
  std::vector<Copied> copied; ///< Ordered by descending absolute value of moreBytes.
  std::vector<Kept> kept;     ///< Ordered by descending bytes.
  std::vector<Again> again;
  std::vector<Waiting> waiting; ///< Ordered by descending difference.
  /// The plans are equal, except perhaps in how they were made: solver, seed, evaluations, and whether the clock ended
  /// the search.
  bool sameDecisions = false;
  bool sameGraph = false; ///< Both graphs have operators and tensors of the same names in the same order.
  /// If the plans differ only in addresses and waits: the number of residencies whose offsets differ, and the number of
  /// all residencies of one plan. Otherwise {0, 0}.
  Pair moved{};
  bool movedWaits = false; ///< Only if `moved` is not {0, 0}: whether the waits of commands differ too.
};

/// Simulates both plans. In addition, takes O(n log n) time for n commands and residencies.
PlanDiff diffPlans(const PlanFile &a, const PlanFile &b, const std::array<std::string, 2> &labels);

/// Describes the differences, the most important first. The topics are "same", "graph", "time", "place", "order",
/// "memory", "copies", "again" and "made". The sentence about "same" is there only if sameDecisions is true.
std::vector<Sentence> describe(const PlanDiff &diff);
/// The value in plan A (`which` = 0) or plan B (`which` = 1) with its unit; "-" if it is not known.
std::string formatFigure(const PlanDiff::Figure &figure, size_t which);
/// The change from A to B: "+52.47 us, 1.316x". Empty if the values are equal, or if one of them is unknown
/// or stands for no limit.
std::string formatChange(const PlanDiff::Figure &figure);

/// All differences, and the sentences of describe(), as JSON.
Json diffToJson(const PlanDiff &diff);

} // namespace sluice

#endif // SLUICE_EXPLAIN_PLANDIFF_H
