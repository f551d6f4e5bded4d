//===- DescribeDiff.cpp - Differences as sentences ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Words.h"
#include "sluice/Explain/PlanDiff.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>

namespace sluice {

using namespace words;

static std::string valueText(PlanDiff::Unit unit, int64_t value) {
  switch (unit) {
  case PlanDiff::Unit::Time:
    return formatDuration(value);
  case PlanDiff::Unit::Limit:
    if (value == std::numeric_limits<int64_t>::max())
      return "no limit";
    [[fallthrough]];
  case PlanDiff::Unit::Bytes:
    return formatBytes(value);
  case PlanDiff::Unit::Count:
    return concat(value);
  }
  return "";
}

std::string formatFigure(const PlanDiff::Figure &figure, size_t which) {
  return figure.isKnown[which] ? valueText(figure.unit, figure.values[which]) : "-";
}

static std::string ratioText(const Pair &values) {
  if (values[0] <= 0 || values[1] <= 0)
    return "";
  char text[32];
  std::snprintf(text, sizeof text, ", %.3fx", static_cast<double>(values[1]) / static_cast<double>(values[0]));
  return text;
}

std::string formatChange(const PlanDiff::Figure &figure) {
  const bool isUnlimited = figure.unit == PlanDiff::Unit::Limit &&
                           std::max(figure.values[0], figure.values[1]) == std::numeric_limits<int64_t>::max();
  if (!figure.differs() || isUnlimited || !figure.isKnown[0] || !figure.isKnown[1])
    return "";
  const int64_t change = figure.values[1] - figure.values[0];
  return concat(change > 0 ? "+" : "", valueText(figure.unit, change), ratioText(figure.values));
}

namespace {

class DiffWriter {
public:
  explicit DiffWriter(const PlanDiff &diff) : diff(diff) {}

  std::vector<Sentence> write() {
    if (diff.sharedOperators == 0) {
      add("graph", "The plans have no operator name in common, so they are plans of different models");
      return std::move(sentences);
    }
    if (diff.sameDecisions)
      add("same", "A and B contain the same decisions", differs() ? "" : " and were made in the same way");
    writeGraph();
    writeTime();
    if (!diff.sameDecisions) {
      writePlacement();
      writeOrder();
      writeLimits();
      writeKept();
      writeCopies();
      writeAgain();
      if (diff.moved[0] > 0)
        add("memory", "A and B differ only in addresses", diff.movedWaits ? " and in what commands wait for" : "", ": ",
            diff.moved[0], " of ", diff.moved[1], " residencies have other offsets");
    }
    if (diff.sameDecisions)
      writeLimits();
    writeSettings();
    return std::move(sentences);
  }

private:
  const PlanDiff &diff;
  std::vector<Sentence> sentences;
  static constexpr size_t kMost = 3;

  template <typename... Ts>
  void add(std::string_view about, const Ts &...parts) {
    sentences.push_back({std::string(about), concat(parts..., ".")});
  }

  bool sharesTensors() const { return diff.onlyTensors[0].empty() && diff.onlyTensors[1].empty(); }

  bool differs() const {
    auto differs = [](const auto &entry) { return entry.differs(); };
    return !diff.sameDecisions || !diff.costs.empty() ||
           std::any_of(diff.settings.begin(), diff.settings.end(), differs) ||
           std::any_of(diff.figures.begin(), diff.figures.end(), differs);
  }

  /// The first kMost of them, each by `text`, and the number of the others.
  template <typename Entry>
  static std::string some(const std::vector<Entry> &entries, const std::function<std::string(const Entry &)> &text) {
    std::string result;
    const size_t shown = std::min(entries.size(), kMost);
    for (size_t i = 0; i < shown; ++i)
      result += concat(i == 0 ? "" : "; ", text(entries[i]));
    return shown < entries.size() ? concat(result, "; and ", entries.size() - shown, " more") : result;
  }

  static std::string inBoth(const Pair &times) {
    return concat(formatDuration(times[0]), " in A and ", formatDuration(times[1]), " in B");
  }

  void writeGraph() {
    static constexpr const char *kPlans[] = {"A", "B"};
    for (size_t i = 0; i < 2; ++i)
      if (const std::vector<std::string> &only = diff.onlyOperators[i]; !only.empty())
        add("graph", countOf(only.size(), "operator"), only.size() == 1 ? " is" : " are", " in ", kPlans[i],
            " only: ", listOf(only, kMost));
    for (size_t i = 0; i < 2; ++i)
      if (const std::vector<std::string> &only = diff.onlyTensors[i]; !only.empty())
        add("graph", countOf(only.size(), "tensor"), only.size() == 1 ? " is" : " are", " in ", kPlans[i],
            " only: ", listOf(only, kMost));
    if (!diff.onlyOperators[0].empty() || !diff.onlyOperators[1].empty() || !sharesTensors())
      add("graph", "The sentences about places, order, copies and repeated operators compare the ",
          countOf(diff.sharedOperators, "operator"), " and the ", countOf(diff.sharedTensors, "tensor"),
          " that both plans have");
    if (!diff.costs.empty())
      add("graph", countOf(diff.costs.size(), "operator"), diff.costs.size() == 1 ? " takes" : " take",
          " a different time on the same device: ", some<PlanDiff::Cost>(diff.costs, [](const PlanDiff::Cost &cost) {
            return concat(inQuotes(cost.op), " on ", inQuotes(cost.device), " ", inBoth(cost.timeNs));
          }));
  }

  void writeTime() {
    const Pair &makespan = diff.figures.front().values;
    if (makespan[0] == makespan[1])
      add("time", "A step takes ", formatDuration(makespan[0]), " in both");
    else
      add("time", "A step takes ", formatDuration(std::abs(makespan[1] - makespan[0])),
          makespan[1] > makespan[0] ? " longer" : " less", " in B: ", formatDuration(makespan[1]), " instead of ",
          formatDuration(makespan[0]));
    for (const PlanDiff::DeviceTime &device : diff.devices)
      writeDevice(device);
    if (!diff.waiting.empty())
      add("time", "Idle times of devices before ", countOf(diff.waiting.size(), "operator"),
          " differ: ", some<PlanDiff::Waiting>(diff.waiting, [](const PlanDiff::Waiting &waiting) {
            return concat("before ", inQuotes(waiting.op), " ", inBoth(waiting.waitNs),
                          ", of which the largest part in ", waiting.waitNs[1] > waiting.waitNs[0] ? "B" : "A",
                          " is taken by ", commandWithDevice(waiting.longest));
          }));
  }

  void writeDevice(const PlanDiff::DeviceTime &device) {
    const bool inA = device.computeNs[0] > 0, inB = device.computeNs[1] > 0;
    if (inA != inB) {
      add("time", inQuotes(device.device), " runs operators in ", inA ? "A" : "B", " only, for ",
          formatDuration(device.computeNs[inA ? 0 : 1]));
      return;
    }
    auto part = [&](const Pair &times, std::string_view what) {
      if (times[0] != times[1])
        add("time", "Device ", inQuotes(device.device), " ", what, " ", inBoth(times));
    };
    part(device.computeNs, "computes for");
    part(device.copyWaitNs, "waits for copies for");
    part(device.otherWaitNs, "waits for operators of other streams for");
    part(device.restNs, "is idle after its last operator for");
  }

  void writePlacement() {
    if (diff.placed.empty())
      add("place", "All operators are on devices of the same names");
    else
      add("place", diff.placed.size(), " of ", countOf(diff.sharedOperators, "operator"),
          diff.placed.size() == 1 ? " is" : " are",
          " on another device: ", some<PlanDiff::Placed>(diff.placed, [](const PlanDiff::Placed &placed) {
            return concat(inQuotes(placed.op), " on ", inQuotes(placed.devices[0]), " in A (",
                          formatDuration(placed.timeNs[0]), ") and on ", inQuotes(placed.devices[1]), " in B (",
                          formatDuration(placed.timeNs[1]), ")");
          }));
  }

  void writeOrder() {
    if (diff.orderedOperators == 0)
      return;
    // An operator that runs again is ordered by its first run.
    const bool isOnce = !diff.runsAgain;
    if (diff.reordered.empty())
      add("order", diff.placed.empty() ? "The operators" : "The operators that are on the same device in both plans",
          isOnce ? " run" : " run for the first time", " in the same order");
    else
      add("order", isOnce ? "The order" : "The order of first runs", " is the same except for ", diff.reordered.size(),
          " of ", countOf(diff.orderedOperators, "operator"), ": ",
          some<PlanDiff::Reordered>(diff.reordered, [](const PlanDiff::Reordered &op) {
            return concat(inQuotes(op.op), " is operator ", op.position[0], " of ", inQuotes(op.device),
                          " in A and operator ", op.position[1], " in B");
          }));
  }

  void writeKept() {
    for (bool inB : {false, true}) {
      std::vector<PlanDiff::Kept> kept;
      int64_t bytes = 0;
      for (const PlanDiff::Kept &entry : diff.kept)
        if (entry.inB == inB) {
          kept.push_back(entry);
          bytes = saturatingAdd(bytes, entry.bytes);
        }
      if (!kept.empty())
        add("memory", "Only ", inB ? "B" : "A", " keeps ", formatBytes(bytes),
            " on devices between steps and reads them there: ",
            some<PlanDiff::Kept>(kept, [](const PlanDiff::Kept &entry) {
              return concat(inQuotes(entry.tensor), " in ", inQuotes(entry.memory), " (", formatBytes(entry.bytes),
                            ")");
            }));
    }
  }

  static int64_t copiesOf(const PlanDiff::Copied &copied, size_t which) {
    return copied.in[which] + copied.out[which] + copied.between[which];
  }

  static std::string times(int64_t count) { return count == 1 ? "once" : concat(count, " times"); }

  /// "once in and 2 times out".
  static std::string directions(const PlanDiff::Copied &copied, size_t which) {
    std::string text;
    const std::pair<int64_t, const char *> counts[] = {
        {copied.in[which], " in"}, {copied.out[which], " out"}, {copied.between[which], " between accelerators"}};
    for (const auto &[count, what] : counts)
      if (count > 0)
        text += concat(text.empty() ? "" : " and ", times(count), what);
    return text.empty() ? "not at all" : text;
  }

  void writeCopies() {
    for (size_t which : {0U, 1U}) {
      std::vector<PlanDiff::Copied> only;
      int64_t bytes = 0;
      for (const PlanDiff::Copied &copied : diff.copied)
        if (copiesOf(copied, 1 - which) == 0) {
          only.push_back(copied);
          bytes = saturatingAdd(bytes, std::abs(copied.moreBytes));
        }
      if (!only.empty())
        add("copies", which == 1 ? "B" : "A", " copies ", countOf(only.size(), "tensor"), " that ",
            which == 1 ? "A" : "B", " does not, ", formatBytes(bytes),
            " in each step: ", some<PlanDiff::Copied>(only, [which](const PlanDiff::Copied &copied) {
              return concat(copied.kind, " ", inQuotes(copied.tensor), " (", formatBytes(copied.bytes), ", ",
                            directions(copied, which), ")");
            }));
    }
    std::vector<PlanDiff::Copied> both;
    for (const PlanDiff::Copied &copied : diff.copied)
      if (copiesOf(copied, 0) > 0 && copiesOf(copied, 1) > 0)
        both.push_back(copied);
    if (!both.empty())
      add("copies", countOf(both.size(), "tensor"), both.size() == 1 ? " is" : " are",
          " copied a different number of times: ", some<PlanDiff::Copied>(both, [](const PlanDiff::Copied &copied) {
            return concat(copied.kind, " ", inQuotes(copied.tensor), " (", formatBytes(copied.bytes), ") ",
                          directions(copied, 0), " by A, ", directions(copied, 1), " by B");
          }));
    if (diff.copied.empty())
      add("copies", sharesTensors() ? "A and B copy the same tensors the same number of times"
                                    : "A and B copy the tensors that both have the same number of times");
  }

  void writeAgain() {
    if (!diff.again.empty())
      add("again", countOf(diff.again.size(), "operator"), diff.again.size() == 1 ? " runs" : " run",
          " a different number of times: ", some<PlanDiff::Again>(diff.again, [](const PlanDiff::Again &again) {
            return concat(inQuotes(again.op), " ", times(again.launches[0]), " in A and ", times(again.launches[1]),
                          " in B (", formatDuration(again.timeNs), " each)");
          }));
  }

  void writeLimit(const PlanDiff::Figure &figure) {
    if (figure.isKnown[0] && figure.isKnown[1])
      add("memory", "The limit of ", inQuotes(figure.memory), " is ", formatFigure(figure, 0), " in A and ",
          formatFigure(figure, 1), " in B");
    else
      add("memory", "Only the machine of ", figure.isKnown[0] ? "A" : "B", " has the memory ", inQuotes(figure.memory));
  }

  void writeLimits() {
    for (const PlanDiff::Figure &figure : diff.figures)
      if (figure.unit == PlanDiff::Unit::Limit && figure.differs())
        writeLimit(figure);
  }

  void writeSettings() {
    for (const PlanDiff::Setting &setting : diff.settings)
      if (setting.differs() && setting.name == "plans tried")
        add("made", "The search tried ", setting.values[0], " plans for A and ", setting.values[1], " for B");
      else if (setting.differs() && setting.name == "end of the search")
        add("made", "The time limit ended the search for ", setting.values[0] == "time limit" ? "A" : "B",
            " and not the other one");
      else if (setting.differs())
        add("made", "The ", setting.name, " of A is ", inQuotes(setting.values[0]), ", of B ",
            inQuotes(setting.values[1]));
  }
};

} // namespace

std::vector<Sentence> describe(const PlanDiff &diff) { return DiffWriter(diff).write(); }

} // namespace sluice
