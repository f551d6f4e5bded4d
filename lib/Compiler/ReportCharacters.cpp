//===- ReportCharacters.cpp - A plan drawn in characters ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ReportText.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sluice {
namespace {

constexpr int kLevels = 8; ///< Of a cell, above empty.

const char *blockOf(int level) {
  static constexpr const char *kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBlocks[std::clamp(level, 0, kLevels)];
}

/// The level that shows a part of a whole; of what is above 0 at least 1.
int levelOf(double part, int levels) { return static_cast<int>(std::ceil(std::clamp(part, 0.0, 1.0) * levels - 1e-9)); }

/// Cut or padded to `width` characters of UTF-8.
std::string fitted(const std::string &text, size_t width) {
  std::string result;
  size_t characters = 0;
  for (size_t i = 0; i < text.size() && characters <= width; ++i) {
    characters += (text[i] & 0xC0) != 0x80;
    if (characters <= width)
      result += text[i];
  }
  return result + std::string(width - std::min(characters, width), ' ');
}

/// Time from left to right, a column for each part of the step.
class CharacterDrawing {
public:
  CharacterDrawing(const PlanFile &file, int columns)
      : machine(file.problem.machine), plan(file.plan), capacities(file.problem.capacities),
        timeline(simulate(file.problem.graph, machine, file.problem.costs, plan)),
        profile(memoryProfile(machine, plan, timeline)), columns(std::max(columns - static_cast<int>(kLabel), 20)) {}

  std::string draw() {
    const std::string end = formatDuration(timeline.makespanNs);
    text = std::string(kLabel, ' ') + "0" + std::string(std::max(columns - 1 - static_cast<int>(end.size()), 1), ' ') +
           end + "\n";
    for (size_t s = 0; s < plan.streams.size(); ++s)
      drawStream(StreamId(s));
    for (size_t m = 0; m < machine.memories.size(); ++m)
      if (profile.peakBytes[m] > 0)
        drawMemory(m);
    return text;
  }

private:
  static constexpr size_t kLabel = 22;
  static constexpr int kMemoryRows = 4;
  const Machine &machine;
  const Plan &plan;
  const std::vector<int64_t> &capacities;
  const Timeline timeline;
  const MemoryProfile profile;
  const int columns;
  std::string text;

  double columnNs() const { return std::max(static_cast<double>(timeline.makespanNs), 1.0) / columns; }
  int columnAt(int64_t ns) const {
    return std::clamp(static_cast<int>(static_cast<double>(ns) / columnNs()), 0, columns - 1);
  }
  void line(const std::string &label, const std::string &cells) {
    text += fitted(excerpt(label), kLabel - 2) + "  " + cells;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }

  /// How much of each column's time the stream is busy.
  void drawStream(StreamId stream) {
    std::vector<double> busyNs(columns);
    for (size_t c = 0; c < plan.commands.size(); ++c) {
      if (plan.commands[c].stream != stream)
        continue;
      const auto [startNs, endNs] = timeline.commands[c];
      for (int column = columnAt(startNs); column <= columnAt(endNs); ++column)
        busyNs[column] += std::max(0.0, std::min(static_cast<double>(endNs), (column + 1) * columnNs()) -
                                            std::max(static_cast<double>(startNs), column * columnNs()));
    }
    std::string cells;
    for (double ns : busyNs)
      cells += blockOf(levelOf(ns / columnNs(), kLevels));
    line(streamLabel(machine, plan.streams[stream.index()]), cells);
  }

  /// The most bytes in use in each column, up to the limit, where the peak is near it, else up to the peak.
  void drawMemory(size_t memory) {
    const int64_t peak = profile.peakBytes[memory], most = drawnBytes(capacities[memory], peak);
    std::vector<int64_t> bytes(columns);
    int64_t current = 0;
    int column = 0;
    for (const MemoryProfile::Sample &sample : profile.perMemory[memory]) {
      for (const int until = columnAt(sample.timeNs); column < until;)
        bytes[++column] = current;
      current = sample.bytes;
      bytes[column] = std::max(bytes[column], current);
    }
    while (++column < columns)
      bytes[column] = current;

    text += '\n';
    std::array<std::string, kMemoryRows> labels = {machine.memories[memory].name, "  used " + formatBytes(peak)};
    if (capacities[memory] != std::numeric_limits<int64_t>::max())
      labels[2] = "  limit " + formatBytes(capacities[memory]);
    for (int row = 0; row < kMemoryRows; ++row) {
      std::string cells;
      for (int64_t used : bytes)
        cells += blockOf(levelOf(static_cast<double>(used) / static_cast<double>(most), kMemoryRows * kLevels) -
                         (kMemoryRows - 1 - row) * kLevels);
      line(labels[row], cells);
    }
  }
};

} // namespace

std::string reportText(const PlanFile &file, int columns) { return CharacterDrawing(file, columns).draw(); }

} // namespace sluice
