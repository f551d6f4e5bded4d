//===- PlanStories.h - What plan files say, printed -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_PLANSTORIES_H
#define SLUICE_TOOLS_SLUICE_PLANSTORIES_H

#include "sluice/Search/PlanFile.h"

#include <string>
#include <vector>

namespace sluice::driver {

/// Whether a path is that of a plan and not of a model: a directory, which must be that of a compiled model, or a JSON
/// object.
bool isPlanPath(const std::string &path);
/// Reads a plan file, or the plan that a compiled model's directory keeps.
Expected<PlanFile> readPlanAt(const std::string &path);

/// Prints why operators and tensors have their place and time in the plan. Fails as explain() does.
Status printExplanations(const PlanFile &file, const std::vector<std::string> &names, bool asJson);
/// Prints what differs between two plans, read by readPlanAt.
Status printDiff(const std::string &pathA, const std::string &pathB, bool asJson);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_PLANSTORIES_H
