//===- TuningSpace.cpp - Which tunings are worth measuring ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Tuning.h"

#include "dialects/Dataflow/Emit/Work.h"

#include <algorithm>
#include <set>

namespace sluice {

namespace {

constexpr int64_t kMostRows = 14; ///< More hide no latency that 14 leave.
constexpr int64_t kMostVectors = 4;

bool isWinograd(TunedAlgorithm algorithm) {
  return algorithm == TunedAlgorithm::Winograd2 || algorithm == TunedAlgorithm::Winograd4;
}

/// One kernel's steps around a tuning.
class Steps {
public:
  Steps(const TunableKernel &kernel, const KernelTuning &from, const emit::VectorTarget &target)
      : kernel(kernel), from(from), target(target) {}

  std::vector<KernelTuning> take() {
    const TunedAlgorithm algorithm = from.algorithm == TunedAlgorithm::Any ? kernel.chosen.algorithm : from.algorithm;
    if (isWinograd(algorithm)) {
      // The compiler chooses the blocks of tiles by its estimates: any size is a step from there.
      const int64_t tiles = from.rowBlock > 0 ? from.rowBlock : 32;
      for (int64_t next : {tiles / 2, tiles * 2, from.rowBlock > 0 ? 0 : tiles})
        if (next >= 4 && next <= 64)
          add(&KernelTuning::rowBlock, next);
    } else if (kernel.hasTile) {
      stepTile();
      stepBlocks();
    }
    return std::move(steps);
  }

  /// The highest tile of each width, and one that cuts the rows evenly.
  std::vector<KernelTuning> takeWidths() {
    for (int64_t vectors = 1; vectors <= kMostVectors; ++vectors) {
      if (!hasWidth(vectors))
        continue;
      const int64_t most = mostRows(vectors), tiles = (kernel.rows + most - 1) / most;
      for (int64_t rows : {most, (kernel.rows + tiles - 1) / tiles})
        addTile(rows, vectors);
    }
    return std::move(steps);
  }

private:
  int64_t valueOf(int64_t KernelTuning::*field) const { return from.*field > 0 ? from.*field : kernel.chosen.*field; }
  /// Rows that leave a register for each vector of weights and one for a broadcast.
  int64_t mostRows(int64_t vectors) const {
    return std::min({(target.registers - vectors - 1) / vectors, kMostRows, kernel.rows});
  }
  bool hasWidth(int64_t vectors) const {
    return vectors >= 1 && vectors <= kMostVectors && (vectors - 1) * target.lanesF32 < kernel.columns &&
           mostRows(vectors) >= 1;
  }
  void addTile(int64_t rows, int64_t vectors) {
    KernelTuning tuning = from;
    tuning.rows = rows;
    tuning.vectors = vectors;
    add(tuning);
  }
  void add(KernelTuning tuning) {
    for (const TuningField &field : kTuningFields)
      if (tuning.*field.value == kernel.chosen.*field.value)
        tuning.*field.value = 0;
    steps.push_back(tuning);
  }
  void add(int64_t KernelTuning::*field, int64_t value) {
    KernelTuning tuning = from;
    tuning.*field = value;
    add(tuning);
  }

  void stepTile() {
    const int64_t rows = valueOf(&KernelTuning::rows), vectors = valueOf(&KernelTuning::vectors);
    for (int64_t next : {vectors - 1, vectors + 1})
      if (hasWidth(next))
        addTile(mostRows(next), next);
    for (int64_t next : {rows - 1, rows + 1, rows - 2, rows + 2, rows / 2})
      if (next >= 1 && next <= mostRows(vectors) && next != rows)
        add(&KernelTuning::rows, next);
  }

  void stepBlocks() {
    const int64_t rowBlock = valueOf(&KernelTuning::rowBlock), depth = valueOf(&KernelTuning::depthBlock);
    const int64_t rows = valueOf(&KernelTuning::rows);
    for (int64_t next : {rowBlock / 2, rowBlock * 2})
      if (rowBlock > 0 && next >= rows && next <= 4096 &&
          (next < rowBlock || rowBlock < kernel.rows || !kernel.hasDepthBlock))
        add(&KernelTuning::rowBlock, next);
    if (kernel.hasDepthBlock)
      for (int64_t next : {depth / 2, depth * 2})
        if (next >= 32 && next <= 4096 && (next < depth || depth < kernel.depth))
          add(&KernelTuning::depthBlock, next);
  }

  const TunableKernel &kernel;
  const KernelTuning &from;
  const emit::VectorTarget &target;
  std::vector<KernelTuning> steps;
};

} // namespace

void setChosenAlgorithm(TunableKernel &kernel, std::optional<dataflow::ConvAlgorithm> algorithm) {
  KernelTuning &chosen = kernel.chosen;
  if (!algorithm) {
    chosen.algorithm = TunedAlgorithm::Direct;
  } else if (*algorithm == dataflow::ConvAlgorithm::shift_add) {
    // Blocks of rows are as large as the scratch allows.
    chosen.algorithm = TunedAlgorithm::Any;
    chosen.rowBlock = 0;
  } else {
    chosen.algorithm =
        *algorithm == dataflow::ConvAlgorithm::winograd2 ? TunedAlgorithm::Winograd2 : TunedAlgorithm::Winograd4;
  }
}

std::vector<KernelTuning> tuningStarts(const TunableKernel &kernel, const emit::VectorTarget &target) {
  std::vector<KernelTuning> starts(1);
  if (kernel.allowsWinograd)
    for (TunedAlgorithm algorithm : {TunedAlgorithm::Direct, TunedAlgorithm::Winograd2, TunedAlgorithm::Winograd4})
      if (algorithm != kernel.chosen.algorithm)
        starts.push_back({algorithm});
  if (kernel.allowsShiftAdd && !kernel.allowsWinograd)
    starts.push_back({TunedAlgorithm::Direct});
  for (const KernelTuning &from : std::vector(starts)) {
    const TunedAlgorithm algorithm = from.algorithm == TunedAlgorithm::Any ? kernel.chosen.algorithm : from.algorithm;
    const bool isShiftAdd = kernel.allowsShiftAdd && algorithm == TunedAlgorithm::Any;
    if (isWinograd(algorithm))
      for (int64_t tiles : {8, 32}) {
        starts.push_back(from);
        starts.back().rowBlock = tiles;
      }
    if (!kernel.hasTile || isWinograd(algorithm) || isShiftAdd)
      continue;
    for (const KernelTuning &start : Steps(kernel, from, target).takeWidths())
      if (std::find(starts.begin(), starts.end(), start) == starts.end())
        starts.push_back(start);
  }
  return starts;
}

std::vector<KernelTuning> tuningNeighbours(const TunableKernel &kernel, const KernelTuning &from,
                                           const emit::VectorTarget &target) {
  return Steps(kernel, from, target).take();
}

std::vector<KernelTuning> chunkNeighbours(const KernelTuning &from) {
  std::vector<KernelTuning> steps;
  const int64_t chunk = from.chunkNs > 0 ? from.chunkNs : dataflow::ChunkTimes::kDefaultNs;
  auto add = [&](int64_t chunkNs) {
    steps.push_back(from);
    steps.back().chunkNs = chunkNs;
  };
  if (chunk == kMostChunkNs)
    return steps;
  for (int64_t next : {chunk / 2, chunk * 2})
    if (next >= 1000 && next <= 72'000)
      add(next == dataflow::ChunkTimes::kDefaultNs ? 0 : next);
  add(kMostChunkNs);
  return steps;
}

std::vector<KernelTuning> tuningGrid(const TunableKernel &kernel, const emit::VectorTarget &target) {
  std::vector<KernelTuning> grid = tuningStarts(kernel, target);
  std::set<KernelTuning> known(grid.begin(), grid.end());
  for (size_t i = 0; i < grid.size(); ++i)
    for (const KernelTuning &next : tuningNeighbours(kernel, grid[i], target))
      if (known.insert(next).second)
        grid.push_back(next);
  return grid;
}

} // namespace sluice
