//===- PlanDiff.h - What differs between two plans --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Two plan files, A and B: of one model under other limits, by other solvers, on
// another machine; or of models that share some operators. Operators, tensors, devices
// and memories are the same where plan files call them the same (PlanNames). Times are
// simulated, each plan's with its own file's costs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_EXPLAIN_PLANDIFF_H
#define SLUICE_EXPLAIN_PLANDIFF_H

#include "sluice/Explain/Explain.h"

#include <array>

namespace sluice {

/// A's and B's.
using Pair = std::array<int64_t, 2>;

struct PlanDiff {
  /// How a plan was made, and from what: model, machine, solver, seed, evaluations, and what ended the search ("own",
  /// "time limit").
  struct Setting {
    std::string name;
    std::array<std::string, 2> values;
    bool differs() const { return values[0] != values[1]; }
  };
  enum class Unit : uint8_t { Time, Bytes, Limit, Count };
  /// A figure.
  struct Figure {
    std::string name;
    Unit unit = Unit::Time;
    Pair values{};
    std::string memory;                      ///< Whose bytes it counts; empty: of the step.
    std::array<bool, 2> isKnown{true, true}; ///< Not where the plan's machine does not have the memory; the value is 0.
    bool differs() const { return values[0] != values[1]; }
    /// Whether it is worth a line: a limit that both plans have is none.
    bool isShown() const { return differs() || (values[0] != 0 && unit != Unit::Limit); }
  };
  /// What the compute streams of a device do during a step.
  struct DeviceTime {
    std::string device;
    Pair computeNs{};   ///< Runs operators.
    Pair copyWaitNs{};  ///< Nothing runs, for copies.
    Pair otherWaitNs{}; ///< Nothing runs, for operators of other streams.
    Pair restNs{};      ///< After its last operator, until the step ends.
  };
  struct Placed {
    std::string op;
    std::array<std::string, 2> devices;
    Pair timeNs{}; ///< Each in its own plan.
  };
  /// An operator that runs before others of its device that it runs behind in the other plan.
  struct Reordered {
    std::string op, device;
    Pair position{}; ///< Among those that are on this device in both plans, from 1.
    Pair startNs{};
  };
  struct Copied {
    std::string tensor, kind;
    int64_t bytes = 0;     ///< Of one copy, in B where it has the tensor.
    Pair in{}, out{};      ///< Copies by direction (copyDirection()): towards the devices, and away from them.
    Pair between{};        ///< Copies between memories of one level.
    int64_t moreBytes = 0; ///< That B copies more than A; negative: less.
  };
  /// A parameter or state that one plan keeps in a memory from the step before until it is read there, and the other
  /// does not.
  struct Kept {
    std::string tensor, memory;
    int64_t bytes = 0;
    bool inB = false;
  };
  struct Again {
    std::string op;
    Pair launches{};
    int64_t timeNs = 0; ///< Of one launch, in the plan that has more.
  };
  /// An operator that takes another time on its device; both plans have it on the same device.
  struct Cost {
    std::string op, device;
    Pair timeNs{};
  };
  /// An operator before which its stream does nothing.
  struct Waiting {
    std::string op;
    Pair waitNs{};
    CommandFact longest; ///< What most of it goes to, in the plan that waits longer.
  };

  std::array<std::string, 2> labels; ///< What the plans are called: their files.
  std::vector<Setting> settings;
  std::vector<Figure> figures; ///< The first is the makespan.
  std::vector<DeviceTime> devices;
  std::array<std::vector<std::string>, 2> onlyOperators, onlyTensors; ///< That the other graph does not have.
  size_t sharedOperators = 0, sharedTensors = 0;
  bool runsAgain = false;           ///< In one of the plans an operator runs more than once.
  std::vector<Cost> costs;          ///< By descending difference.
  std::vector<Placed> placed;       ///< By descending time in A.
  size_t orderedOperators = 0;      ///< That are on one device in both plans.
  std::vector<Reordered> reordered; ///< The least set without which the orders agree, by descending distance.
  std::vector<Copied> copied;       ///< By descending bytes of the difference.
  std::vector<Kept> kept;           ///< By descending bytes.
  std::vector<Again> again;
  std::vector<Waiting> waiting; ///< By descending difference.
  bool sameDecisions = false;   ///< All of a plan but how it was made.
  bool sameGraph = false;       ///< Operators and tensors of the same names, in the same order.
  /// Residencies at other addresses, of as many; counted where the plans differ in addresses alone.
  Pair moved{};
  bool movedWaits = false; ///< In this case, whether commands wait for other commands as well.
};

/// O((commands + residencies) log).
PlanDiff diffPlans(const PlanFile &a, const PlanFile &b, const std::array<std::string, 2> &labels);

/// What differs, the most important first; about: "same", "graph", "machine", "time", "memory", "place", "order",
/// "copies", "again", "made". One sentence about "same" where nothing does.
std::vector<Sentence> describe(const PlanDiff &diff);
/// A's (0) or B's (1) value as people read it; "-" where it has none.
std::string formatFigure(const PlanDiff::Figure &figure, size_t which);
/// "+52.47 us, 1.316x"; empty where the two agree or one has none.
std::string formatChange(const PlanDiff::Figure &figure);

/// All of it, and the sentences.
Json diffToJson(const PlanDiff &diff);

} // namespace sluice

#endif // SLUICE_EXPLAIN_PLANDIFF_H
