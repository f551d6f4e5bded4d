//===- StagesFile.h - The ranks of a compiled pipeline ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The directory of a compiled pipeline has a folder for each rank, which is a compiled model of its own, and the file
// stages.json (docs/formats/stages.md).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_STAGESFILE_H
#define SLUICE_TOOLS_SLUICE_STAGESFILE_H

#include "sluice/Compiler/TrainingOptions.h"
#include "sluice/Support/Error.h"
#include "sluice/TensorIO/ElementType.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::driver {

/// A state of a model. If ranks hold parts of the state, the shape is that of the whole state.
struct StateType {
  std::string name;
  ElementType type = ElementType::Float32;
  std::vector<int64_t> shape;
};

struct StagesFile {
  uint32_t stages = 0, microbatches = 0;
  uint32_t groupRanks = 1; ///< The ranks of a group, which run the same stages together.
  std::string schedule;
  std::vector<std::vector<StateType>> states; ///< Per rank.
  std::vector<std::string> digests;           ///< Per rank: the digest of its compiled model (identityOf).
  /// With stages=best: the candidates that were compared. This member is written but not read.
  std::vector<PipelineCandidate> weighed;

  uint32_t numRanks() const { return static_cast<uint32_t>(states.size()); }
  /// The states of all ranks, each once, with the first rank that has the state.
  std::vector<std::pair<StateType, uint32_t>> allStates() const;
};

/// The file's path.
std::string stagesFileOf(const std::string &directory);
/// Whether the directory is that of a compiled pipeline.
bool isPipelineDirectory(const std::string &directory);
/// The folder of a rank's compiled model.
std::string folderOfRank(const std::string &directory, uint32_t rank);

/// Fails on the directory of a compiled pipeline, for a command that reads one compiled model.
Status refusePipeline(const std::string &directory);

Expected<StagesFile> readStagesFile(const std::string &directory);
Status writeStagesFile(const std::string &directory, const StagesFile &file);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_STAGESFILE_H
