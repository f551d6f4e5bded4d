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

#include "ModelIdentity.h"
#include "RunSession.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::driver {

/// The progress of a run.
struct RunProgress {
  int64_t steps = 0;   ///< Number of steps that the first rank has done.
  int64_t batches = 0; ///< Number of batches that all ranks have used when each has done that many steps.
};

/// A file name for each tensor: the tensor's name without separators, each once.
std::vector<std::string> tensorFileNames(const std::vector<HostTensor> &tensors);

/// Replaces `folder` by a folder with these states. At every time, also if the process is killed, the folder is absent
/// or whole, and an older folder stays until the new one is on the disk. One process at a time writes it. Fails if
/// checkReplaceable() does, or if the system refuses a file; the folder is then the older one.
Status saveStates(const std::string &folder, const ModelIdentity &model, RunProgress progress,
                  const std::vector<HostTensor> &states);
/// Fails if `folder` is a file or a link without a target, holds anything that saveStates() has not written, or cannot
/// be written.
Status checkReplaceable(const std::string &folder);
/// A text that differs between two states that were saved below one name; empty if there are none.
std::string identityOfStates(const std::string &folder);

/// States for a model, in the order of its states.
struct SavedStates {
  RunProgress progress;
  std::vector<HostTensor> states;
};

/// Reads a folder for the model whose states are `wanted`. Fails if the folder was written for another compiled model
/// (unless `isCompatible`), if the names, types or shapes of its states differ from those of the model, and if a file
/// is missing or has changed since it was written.
Expected<SavedStates> loadStates(const std::string &folder, const ModelIdentity &model,
                                 const std::vector<StateType> &wanted, bool isCompatible);
/// Fails if a training run that ends after `steps` steps has nothing left to do.
Status checkStepsLeft(const std::string &folder, RunProgress progress, int64_t steps);
/// The progress of a folder, without its states.
Expected<RunProgress> savedProgress(const std::string &folder);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_SAVEDSTATES_H
