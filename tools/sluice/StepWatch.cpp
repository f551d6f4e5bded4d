//===- StepWatch.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepWatch.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <unistd.h>
#include <vector>

namespace sluice::driver {

static int64_t clockNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

StepWatch::StepWatch(int64_t steps) : steps(steps), drawnNs(clockNs()) {}

Expected<StepWatch> StepWatch::start(int64_t steps) {
  if (!isatty(STDERR_FILENO))
    return makeError(
        ErrorCode::InvalidInput,
        "--watch draws on a terminal, and standard error is not a terminal, option '--watch', leave this option out");
  return StepWatch(steps);
}

void StepWatch::afterStep(const RunSession &session) {
  constexpr int64_t kEveryNs = 250'000'000;
  ++done;
  if (const int64_t nowNs = clockNs(); nowNs - drawnNs >= kEveryNs)
    draw(session, nowNs);
}

void StepWatch::finish(const RunSession &session) { draw(session, clockNs()); }

static std::string rowOf(const std::string &label, const std::string &text) {
  constexpr size_t kLabelWidth = 14;
  return label + std::string(kLabelWidth - std::min(label.size(), kLabelWidth - 1), ' ') + text;
}

/// Of the last step's time.
static std::string busyRow(const sluice_model &model, uint32_t stream, int64_t busyNs, int64_t stepNs) {
  static constexpr const char *kKinds[] = {"", " in", " out", " exchange"};
  const sluice_stream_desc &desc = tableEntry(model.streams, stream);
  const double busy = stepNs > 0 ? std::min(static_cast<double>(busyNs) / static_cast<double>(stepNs), 1.0) : 0;
  constexpr int kCells = 40;
  const int full = static_cast<int>(std::lround(busy * kCells));
  std::string bar;
  for (int i = 0; i < kCells; ++i)
    bar += i < full ? "#" : ".";
  return rowOf(std::string(tableEntry(model.devices, desc.device).name) + kKinds[desc.kind],
               concat(bar, " ", std::lround(busy * 100), " % of the last step"));
}

void StepWatch::draw(const RunSession &session, int64_t nowNs) {
  const sluice_model &model = session.model();
  const sluice_stats stats = session.stats();
  const double seconds = std::max(static_cast<double>(nowNs - drawnNs) * 1e-9, 1e-9);
  const double rate = static_cast<double>(done - doneThen) / seconds;
  char speed[32];
  std::snprintf(speed, sizeof speed, "%.*f", rate < 10 ? 2 : 0, rate);
  std::vector<std::string> rows;
  std::string left;
  if (done < steps && rate > 0)
    left = concat(", ", formatDuration(std::llround(static_cast<double>(steps - done) / rate * 1e9)), " left");
  rows.push_back(rowOf("steps", concat(done, " of ", steps, ", ", speed, " a second", left)));
  rows.push_back(rowOf("step", formatDuration(stats.step_ns)));
  rows.push_back(
      rowOf("copied", concat(formatBytes(stats.bytes_in), " in and ", formatBytes(stats.bytes_out), " out a step")));
  for (uint32_t m = 0; m < model.num_memories; ++m)
    if (stats.planned_arena_bytes[m] > 0)
      rows.push_back(rowOf(
          "arena", concat(formatBytes(stats.arena_peak_bytes[m]), " of '", tableEntry(model.memories, m).name, "'")));
  std::vector<int64_t> busyNs(model.num_streams);
  for (const CommandTime &time : session.commandTimes())
    busyNs[time.stream] += tookNs(time);
  for (uint32_t s = 0; s < model.num_streams; ++s)
    rows.push_back(busyRow(model, s, busyNs[s], stats.step_ns));

  std::string text = drawnLines > 0 ? concat("\033[", drawnLines, "A") : "";
  for (const std::string &row : rows)
    text += "\033[K" + row + "\n";
  std::cerr << text << std::flush;
  drawnLines = static_cast<int>(rows.size());
  drawnNs = nowNs, doneThen = done;
}

} // namespace sluice::driver
