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

/// Makes one input per name of `inputs`, from the texts of --input: "NAME=FILE.npy", "FILE.pb" or "random:SEED", where
/// texts without a name are in the model's order. Also reads input_*.pb of `expectDirectory`, if that is not empty.
/// Fails and names the text.
Expected<std::vector<GivenInput>> readGivenInputs(const std::vector<std::string> &inputs,
                                                  const std::vector<std::string> &texts,
                                                  const std::string &expectDirectory);

/// The shapes of the inputs that are data, by name. They bind symbolic dimensions.
std::map<std::string, std::vector<int64_t>> givenShapes(const std::vector<std::string> &inputs,
                                                        const std::vector<GivenInput> &given);

/// The inputs of the texts of --fix, "NAME=FILE.npy" or "NAME=FILE.pb", by name.
Expected<std::map<std::string, HostTensor>> readFixedInputs(const std::vector<std::string> &texts);

/// The inputs that are data, by name. A model can be specialised to them.
std::map<std::string, HostTensor> givenValues(const std::vector<std::string> &inputs,
                                              const std::vector<GivenInput> &given);

/// The references of --expect: output_*.pb, by the names inside if these are names of outputs, else by the numbers in
/// the files' names. There is at least one.
Expected<std::map<size_t, HostTensor>> readExpected(const std::vector<std::string> &outputs,
                                                    const std::string &directory);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RUNINPUTS_H
