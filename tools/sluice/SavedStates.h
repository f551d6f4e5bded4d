//===- SavedStates.h - The states of a run in a folder ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A folder of states has a .npy file for each state, and states.json with the SHA-256 of each file, the compiled model
// and the number of steps (docs/formats/states.md). States are whole: the parts of ranks are joined.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_SAVEDSTATES_H
#define SLUICE_TOOLS_SLUICE_SAVEDSTATES_H

#include "RunSession.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::driver {

/// How far a run has come.
struct RunProgress {
  int64_t steps = 0;   ///< That each rank has done.
  int64_t batches = 0; ///< That all ranks have used together.
};

/// A compiled model, as folders of states name it.
struct ModelIdentity {
  std::string name;
  std::string digest; ///< SHA-256 of the hashes of its code and its parameters.
};

/// Reads the manifest of an artifact.
Expected<ModelIdentity> identityOf(const std::string &directory);

/// A file name for each tensor: the tensor's name without separators, each once.
std::vector<std::string> tensorFileNames(const std::vector<HostTensor> &tensors);

/// Replaces `folder` by one with these states. At every time, also if the process is killed, the folder is absent or
/// whole, and an older one is there until the new one is on the disk. Only one process at a time writes it. Fails,
/// without a change, where checkReplaceable() does, and where the system refuses a file.
Status saveStates(const std::string &folder, const ModelIdentity &model, RunProgress progress,
                  const std::vector<HostTensor> &states);
/// Fails if `folder` is a file, holds anything that saveStates() does not write, or cannot be written.
Status checkReplaceable(const std::string &folder);

/// States for a model, in the order of its states.
struct SavedStates {
  RunProgress progress;
  std::vector<HostTensor> states;
};

/// Reads a folder for the model whose states are `wanted`. Fails where the folder is of another compiled model, unless
/// `isCompatible`, where its states differ from those in name, type or shape, and where a file is missing or is not the
/// one that was written.
Expected<SavedStates> loadStates(const std::string &folder, const ModelIdentity &model,
                                 const std::vector<StateType> &wanted, bool isCompatible);
/// Fails if a run of `steps` steps, from the begin of the training on, has nothing left to do.
Status checkStepsLeft(const std::string &folder, RunProgress progress, int64_t steps);
/// The progress of a folder, without its states.
Expected<RunProgress> savedProgress(const std::string &folder);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_SAVEDSTATES_H
