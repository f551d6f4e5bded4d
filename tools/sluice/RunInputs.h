//===- RunInputs.h - Tensors given to a run ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_RUNINPUTS_H
#define SLUICE_TOOLS_SLUICE_RUNINPUTS_H

#include "StepInputs.h"

#include <map>
#include <string>
#include <vector>

namespace sluice::driver {

/// One per name of `inputs`, from the texts of --input ("NAME=FILE.npy",
/// "FILE.pb", "random:SEED"; without a name in the model's order) and, where
/// `expectDirectory` is not empty, its input_*.pb. Fails naming the text.
Expected<std::vector<GivenInput>> readGivenInputs(const std::vector<std::string> &inputs,
                                                  const std::vector<std::string> &texts,
                                                  const std::string &expectDirectory);

/// The shapes of those that are data, by name: what binds symbolic dimensions.
std::map<std::string, std::vector<int64_t>> givenShapes(const std::vector<std::string> &inputs,
                                                        const std::vector<GivenInput> &given);

/// The texts of --fix, "NAME=FILE.npy" or "NAME=FILE.pb": by name.
Expected<std::map<std::string, HostTensor>> readFixedInputs(const std::vector<std::string> &texts);

/// Those that are data, by name: what a model can be specialised to.
std::map<std::string, HostTensor> givenValues(const std::vector<std::string> &inputs,
                                              const std::vector<GivenInput> &given);

/// What --expect compares with: output_*.pb, by the names inside where they are
/// outputs' names, else by the numbers in the files' names. At least one.
Expected<std::map<size_t, HostTensor>> readExpected(const std::vector<std::string> &outputs,
                                                    const std::string &directory);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RUNINPUTS_H
