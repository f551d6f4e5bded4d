//===- MeasuredMappings.h - Mappings, really run ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H
#define SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H

#include "RunInputs.h"
#include "SharedOptions.h"

namespace sluice::driver {

/// The option --measure-mappings of commands that compile for this machine; 0 if absent.
CLI::Option *addMeasureOption(CLI::App &app, size_t &count);

/// Makes the compilation run `count` mappings on these inputs, which are in the model's order; missing inputs are
/// random. The time of a mapping is the median of some steps.
void measureMappings(Compilation &compilation, size_t count, std::vector<GivenInput> given);

/// The mappings' times, one line for each.
void printMappings(const std::vector<MeasuredMapping> &mappings);
Json mappingsToJson(const std::vector<MeasuredMapping> &mappings);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H
