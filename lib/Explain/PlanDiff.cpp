//===- PlanDiff.cpp - What differs between two plans ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Explain/PlanDiff.h"

#include "LongestIncreasing.h"
#include "PlanFacts.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace sluice {

namespace {

/// Two plans, their things paired by name.
class Differ {
public:
  Differ(const PlanFile &a, const PlanFile &b) : files{&a, &b}, plans{PlanFacts(a), PlanFacts(b)} {
    pair(operators, diff.onlyOperators, plans[0].operatorNames, plans[1].operatorNames);
    pair(tensors, diff.onlyTensors, plans[0].tensorNames, plans[1].tensorNames);
    for (size_t i = 0; i < 2; ++i)
      positions[i] = launchPositions(plans[i]);
  }

  PlanDiff run(const std::array<std::string, 2> &labels) {
    diff.labels = labels;
    diff.sharedOperators = operators.size();
    diff.sharedTensors = tensors.size();
    for (const PlanFacts &plan : plans)
      diff.runsAgain |= !plan.plan.computedAgain().empty();
    diff.sameGraph = sameNames();
    fillSettings();
    fillFigures();
    fillDevices();
    fillPlacement();
    fillOrder();
    fillCopies();
    fillKept();
    fillAgain();
    fillWaiting();
    fillDecisions();
    return std::move(diff);
  }

private:
  template <typename IdType>
  using Pairs = std::vector<std::array<IdType, 2>>;

  std::array<const PlanFile *, 2> files;
  std::array<PlanFacts, 2> plans;
  Pairs<OperatorId> operators; ///< In A's order.
  Pairs<TensorId> tensors;
  std::array<std::vector<size_t>, 2> positions; ///< Per operator: its first launch, as issued.
  PlanDiff diff;

  template <typename IdType>
  static void pair(Pairs<IdType> &pairs, std::array<std::vector<std::string>, 2> &only, const PlanNames &a,
                   const PlanNames &b) {
    for (uint32_t i = 0; i < a.size(); ++i) {
      const std::string name = a.write(i);
      if (std::optional<uint32_t> other = b.find(name); other && b.write(*other) == name)
        pairs.push_back({IdType(i), IdType(*other)});
      else
        only[0].push_back(name);
    }
    for (uint32_t i = 0; i < b.size(); ++i) {
      const std::string name = b.write(i);
      if (std::optional<uint32_t> other = a.find(name); !other || a.write(*other) != name)
        only[1].push_back(name);
    }
  }

  static std::vector<size_t> launchPositions(const PlanFacts &plan) {
    std::vector<size_t> result(plan.launches.size(), 0);
    for (size_t i = 0; i < result.size(); ++i)
      if (!plan.launches[i].empty())
        result[i] = plan.launches[i].front().index();
    return result;
  }

  bool sameNames() const {
    for (const auto &only : {diff.onlyOperators, diff.onlyTensors})
      if (!only[0].empty() || !only[1].empty())
        return false;
    auto same = [](const auto &ids) { return ids[0] == ids[1]; };
    return std::all_of(operators.begin(), operators.end(), same) && std::all_of(tensors.begin(), tensors.end(), same);
  }

  std::string deviceOf(size_t which, OperatorId op) const {
    return plans[which].machine.device(plans[which].plan.placement[op.index()]).name;
  }

  int64_t timeNs(size_t which, OperatorId op) const {
    return plans[which].costs.timeNs(op, plans[which].plan.placement[op.index()]);
  }

  void fillSettings() {
    auto add = [&](std::string name, auto value) {
      diff.settings.push_back({std::move(name), {value(*files[0]), value(*files[1])}});
    };
    add("model", [](const PlanFile &file) {
      return concat(file.problem.graph.name, ", ", file.problem.graph.numOperators(), " operators");
    });
    add("machine", [](const PlanFile &file) { return file.problem.machine.name; });
    add("solver", [](const PlanFile &file) { return file.plan.solver; });
    add("seed", [](const PlanFile &file) { return concat(file.plan.seed); });
    add("plans tried", [](const PlanFile &file) { return concat(file.summary.evaluations); });
    add("end of the search", [](const PlanFile &file) { return file.plan.stoppedByClock ? "time limit" : "own"; });
  }

  void fillFigures() {
    auto add = [&](std::string name, PlanDiff::Unit unit, auto value) {
      diff.figures.push_back({std::move(name), unit, {value(size_t(0)), value(size_t(1))}, {}, {true, true}});
    };
    using Unit = PlanDiff::Unit;
    add("makespan", Unit::Time, [&](size_t i) { return plans[i].timeline.makespanNs; });
    add("ideal", Unit::Time, [&](size_t i) { return files[i]->summary.idealNs; });
    add("lower bound", Unit::Time, [&](size_t i) { return files[i]->summary.lowerBoundNs; });
    const CopiedBytes copied[2] = {copiedBytes(plans[0].graph, plans[0].machine, plans[0].plan),
                                   copiedBytes(plans[1].graph, plans[1].machine, plans[1].plan)};
    add("swapped in", Unit::Bytes, [&](size_t i) { return copied[i].in; });
    add("swapped out", Unit::Bytes, [&](size_t i) { return copied[i].out; });
    add("read from files", Unit::Bytes, [&](size_t i) { return copied[i].read; });
    add("written to files", Unit::Bytes, [&](size_t i) { return copied[i].written; });
    add("copied", Unit::Bytes, [&](size_t i) { return plans[i].plan.bytesCopied(plans[i].graph); });
    add("run again", Unit::Count, [&](size_t i) { return static_cast<int64_t>(plans[i].plan.computedAgain().size()); });
    for (const std::string &name : namesOf([](const Machine &machine) -> const auto & { return machine.memories; })) {
      auto ofMemory = [&](size_t i, const std::vector<int64_t> &bytes) -> int64_t {
        Expected<MemoryId> memory = plans[i].machine.findMemory(name);
        return memory ? bytes[memory->index()] : 0;
      };
      auto addOfMemory = [&](const char *what, Unit unit, auto bytes) {
        add(concat(name, " ", what), unit, [&](size_t i) { return ofMemory(i, bytes(i)); });
        diff.figures.back().memory = name;
        for (size_t i = 0; i < 2; ++i)
          diff.figures.back().isKnown[i] = plans[i].machine.findMemory(name).has_value();
      };
      addOfMemory("limit", Unit::Limit, [&](size_t i) { return plans[i].capacities; });
      addOfMemory("planned", Unit::Bytes, [&](size_t i) { return plans[i].plan.arenaBytes; });
    }
  }

  /// Names of both machines' things, A's first, each once.
  template <typename Things>
  std::vector<std::string> namesOf(Things things) const {
    std::vector<std::string> names;
    for (const PlanFacts &plan : plans)
      for (const auto &thing : things(plan.machine))
        if (std::find(names.begin(), names.end(), thing.name) == names.end())
          names.push_back(thing.name);
    return names;
  }

  void fillDevices() {
    for (const std::string &name : namesOf([](const Machine &machine) -> const auto & { return machine.devices; })) {
      PlanDiff::DeviceTime device;
      device.device = name;
      bool computes = false;
      for (size_t i = 0; i < 2; ++i)
        for (size_t s = 0; s < plans[i].plan.streams.size(); ++s) {
          const Stream &stream = plans[i].plan.streams[s];
          if (stream.kind != StreamKind::Compute || plans[i].machine.device(stream.device).name != name)
            continue;
          computes |= fillStream(device, i, StreamId(s));
        }
      if (computes)
        diff.devices.push_back(std::move(device));
    }
  }

  bool fillStream(PlanDiff::DeviceTime &device, size_t which, StreamId stream) {
    const PlanFacts &plan = plans[which];
    int64_t endNs = 0;
    bool any = false;
    for (size_t c = 0; c < plan.plan.commands.size(); ++c) {
      const CommandId id(c);
      if (plan.command(id).stream != stream)
        continue;
      any = true;
      const Stall stall = plan.stall(id);
      device.copyWaitNs[which] += stall.copyNs;
      device.otherWaitNs[which] += stall.launchNs;
      device.computeNs[which] += plan.interval(id).endNs - plan.interval(id).startNs;
      endNs = plan.interval(id).endNs;
    }
    if (any)
      device.restNs[which] = plan.timeline.makespanNs - endNs;
    return any;
  }

  void fillPlacement() {
    for (const auto &[a, b] : operators) {
      const std::array<std::string, 2> devices{deviceOf(0, a), deviceOf(1, b)};
      const Pair times{timeNs(0, a), timeNs(1, b)};
      if (devices[0] != devices[1])
        diff.placed.push_back({plans[0].nameOf(a), devices, times});
      else if (times[0] != times[1])
        diff.costs.push_back({plans[0].nameOf(a), devices[0], times});
    }
    std::stable_sort(diff.placed.begin(), diff.placed.end(),
                     [](const auto &x, const auto &y) { return x.timeNs[0] > y.timeNs[0]; });
    std::stable_sort(diff.costs.begin(), diff.costs.end(), [](const auto &x, const auto &y) {
      return std::abs(x.timeNs[1] - x.timeNs[0]) > std::abs(y.timeNs[1] - y.timeNs[0]);
    });
  }

  /// Per device, of the operators there in both plans: those outside a longest sequence common to both orders moved.
  void fillOrder() {
    std::map<std::string, Pairs<OperatorId>> byDevice;
    for (const auto &ids : operators)
      if (const std::string device = deviceOf(0, ids[0]); device == deviceOf(1, ids[1]))
        byDevice[device].push_back(ids);
    for (auto &entry : byDevice) {
      const std::string &device = entry.first;
      Pairs<OperatorId> &ids = entry.second;
      diff.orderedOperators += ids.size();
      const std::vector<size_t> ranks = ranksInB(ids);
      const std::vector<bool> stays = longestIncreasing(ranks);
      for (size_t i = 0; i < ids.size(); ++i) {
        if (stays[i])
          continue;
        auto startNs = [&](size_t which) {
          return plans[which].timeline.commands[positions[which][ids[i][which].index()]].startNs;
        };
        diff.reordered.push_back({plans[0].nameOf(ids[i][0]),
                                  device,
                                  {static_cast<int64_t>(i + 1), static_cast<int64_t>(ranks[i] + 1)},
                                  {startNs(0), startNs(1)}});
      }
    }
    std::stable_sort(diff.reordered.begin(), diff.reordered.end(), [](const auto &x, const auto &y) {
      return std::abs(x.position[1] - x.position[0]) > std::abs(y.position[1] - y.position[0]);
    });
  }

  /// Sorts by A's order; gives each one's place in B's.
  std::vector<size_t> ranksInB(Pairs<OperatorId> &ids) const {
    auto by = [&](size_t which) {
      return [this, which](const auto &x, const auto &y) {
        return positions[which][x[which].index()] < positions[which][y[which].index()];
      };
    };
    std::sort(ids.begin(), ids.end(), by(0));
    Pairs<OperatorId> other = ids;
    std::sort(other.begin(), other.end(), by(1));
    std::map<OperatorId, size_t> rank;
    for (size_t i = 0; i < other.size(); ++i)
      rank[other[i][0]] = i;
    std::vector<size_t> ranks;
    for (const auto &pair : ids)
      ranks.push_back(rank[pair[0]]);
    return ranks;
  }

  struct Copies {
    int64_t in = 0, out = 0, between = 0;
    int64_t total() const { return in + out + between; }
  };

  static std::vector<Copies> copiesOf(const PlanFacts &plan) {
    std::vector<Copies> copies(plan.graph.numTensors());
    for (const Command &command : plan.plan.commands) {
      if (command.kind != CommandKind::Copy)
        continue;
      Copies &count = copies[plan.residency(command.reads[0]).tensor.index()];
      const CopyDirection direction = copyDirection(plan.machine, plan.plan, command);
      ++(direction == CopyDirection::In ? count.in : direction == CopyDirection::Out ? count.out : count.between);
    }
    return copies;
  }

  void fillCopies() {
    const std::vector<Copies> copies[2] = {copiesOf(plans[0]), copiesOf(plans[1])};
    for (const auto &[a, b] : tensors) {
      const Copies &inA = copies[0][a.index()], &inB = copies[1][b.index()];
      if (inA.in == inB.in && inA.out == inB.out && inA.between == inB.between)
        continue;
      const Tensor &tensor = plans[1].graph.tensor(b);
      PlanDiff::Copied entry;
      entry.tensor = plans[0].nameOf(a);
      entry.kind = kindOf(tensor);
      entry.bytes = tensor.bytes;
      entry.in = {inA.in, inB.in};
      entry.out = {inA.out, inB.out};
      entry.between = {inA.between, inB.between};
      entry.moreBytes =
          saturatingMul(tensor.bytes, inB.total()) - saturatingMul(plans[0].graph.tensor(a).bytes, inA.total());
      diff.copied.push_back(std::move(entry));
    }
    std::stable_sort(diff.copied.begin(), diff.copied.end(),
                     [](const auto &x, const auto &y) { return std::abs(x.moreBytes) > std::abs(y.moreBytes); });
  }

  /// Memories of both machines by name that hold the tensor when a step begins.
  static std::vector<std::string> keptIn(const PlanFacts &plan, const std::vector<ResidencyId> &initial) {
    std::vector<std::string> names;
    for (ResidencyId id : initial)
      names.push_back(plan.machine.memory(plan.residency(id).memory).name);
    return names;
  }

  /// Per tensor, its stays from the step before that something reads. A stay that is overwritten unread saves no copy.
  static std::vector<std::vector<ResidencyId>> initialOf(const PlanFacts &plan) {
    std::vector<std::vector<ResidencyId>> initial(plan.graph.numTensors());
    for (size_t i = 0; i < plan.plan.residencies.size(); ++i)
      if (const Residency &r = plan.plan.residencies[i];
          r.initial && r.segment == Segment::Arena && r.tensor.valid() && !plan.readers[i].empty())
        initial[r.tensor.index()].push_back(ResidencyId(i));
    return initial;
  }

  void fillKept() {
    const std::vector<std::vector<ResidencyId>> initial[2] = {initialOf(plans[0]), initialOf(plans[1])};
    for (const std::array<TensorId, 2> &ids : tensors) {
      const std::vector<std::string> inA = keptIn(plans[0], initial[0][ids[0].index()]);
      const std::vector<std::string> inB = keptIn(plans[1], initial[1][ids[1].index()]);
      auto add = [&](const std::vector<std::string> &in, const std::vector<std::string> &notIn, bool isB) {
        for (const std::string &memory : in)
          if (std::find(notIn.begin(), notIn.end(), memory) == notIn.end())
            diff.kept.push_back({plans[0].nameOf(ids[0]), memory, plans[1].graph.tensor(ids[1]).bytes, isB});
      };
      add(inA, inB, false);
      add(inB, inA, true);
    }
    std::stable_sort(diff.kept.begin(), diff.kept.end(),
                     [](const auto &x, const auto &y) { return x.bytes > y.bytes; });
  }

  void fillAgain() {
    for (const auto &[a, b] : operators) {
      const Pair launches{static_cast<int64_t>(plans[0].launches[a.index()].size()),
                          static_cast<int64_t>(plans[1].launches[b.index()].size())};
      if (launches[0] != launches[1])
        diff.again.push_back({plans[0].nameOf(a), launches, launches[0] > launches[1] ? timeNs(0, a) : timeNs(1, b)});
    }
  }

  /// How long its stream does nothing before an operator's launches, and what the longest of these times goes to.
  std::pair<int64_t, CommandFact> waitOf(size_t which, OperatorId op) const {
    const PlanFacts &plan = plans[which];
    std::pair<int64_t, CommandFact> result;
    int64_t longestNs = 0;
    for (CommandId launch : plan.launches[op.index()]) {
      const Stall stall = plan.stall(launch);
      const int64_t ns = stall.copyNs + stall.launchNs;
      result.first += ns;
      if (ns > longestNs)
        result.second = plan.fact(stall.longest);
      longestNs = std::max(longestNs, ns);
    }
    return result;
  }

  void fillWaiting() {
    for (const auto &[a, b] : operators) {
      const auto [inA, longestA] = waitOf(0, a);
      const auto [inB, longestB] = waitOf(1, b);
      if (inA != inB)
        diff.waiting.push_back({plans[0].nameOf(a), {inA, inB}, inA > inB ? longestA : longestB});
    }
    std::stable_sort(diff.waiting.begin(), diff.waiting.end(), [](const auto &x, const auto &y) {
      return std::abs(x.waitNs[1] - x.waitNs[0]) > std::abs(y.waitNs[1] - y.waitNs[0]);
    });
  }

  static Json decisions(const PlanFacts &plan) {
    Json json = planToJson(plan.graph, plan.machine, plan.plan);
    for (const char *made : {"solver", "seed", "evaluations", "stoppedByClock"})
      json.erase(made);
    return json;
  }

  void fillDecisions() {
    Json a = decisions(plans[0]), b = decisions(plans[1]);
    diff.sameDecisions = a == b;
    if (diff.sameDecisions || a["residencies"].size() != b["residencies"].size())
      return;
    // The same but for the addresses.
    Pair moved{0, static_cast<int64_t>(a["residencies"].size())};
    for (size_t i = 0; i < a["residencies"].size(); ++i) {
      moved[0] += a["residencies"][i]["offset"] != b["residencies"][i]["offset"];
      a["residencies"][i].erase("offset");
      b["residencies"][i].erase("offset");
    }
    a.erase("arenas");
    b.erase("arenas");
    const bool sameWaits = a == b;
    for (Json *json : {&a, &b})
      for (Json &command : (*json)["commands"])
        command.erase("waits");
    if (a != b)
      return;
    diff.moved = moved;
    diff.movedWaits = !sameWaits;
  }
};

} // namespace

PlanDiff diffPlans(const PlanFile &a, const PlanFile &b, const std::array<std::string, 2> &labels) {
  return Differ(a, b).run(labels);
}

} // namespace sluice
