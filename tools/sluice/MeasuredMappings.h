//===- MeasuredMappings.h - Mappings, really run ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H
#define SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H

#include "RunInputs.h"
#include "SharedOptions.h"

namespace sluice::driver {

/// --measure-mappings, of the commands that compile for this machine; 0: absent.
CLI::Option *addMeasureOption(CLI::App &app, size_t &count);

/// Has the compilation run so many mappings on these inputs, in the model's order; those
/// missing are random. A mapping's time is the median of some steps.
void measureMappings(Compilation &compilation, size_t count, std::vector<GivenInput> given);

/// What they took, a line each.
void printMappings(const std::vector<MeasuredMapping> &mappings);
Json mappingsToJson(const std::vector<MeasuredMapping> &mappings);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_MEASUREDMAPPINGS_H
