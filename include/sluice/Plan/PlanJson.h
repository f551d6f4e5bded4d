//===- PlanJson.h - Plans as JSON -------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_PLANJSON_H
#define SLUICE_PLAN_PLANJSON_H

#include "sluice/Plan/Plan.h"
#include "sluice/Support/Json.h"

namespace sluice {

inline constexpr int kPlanSchema = 1;

/// Operators, tensors and devices are written by name, so that the plan can be read for a graph
/// that was imported again.
Json planToJson(const Graph &graph, const Machine &machine, const Plan &plan);
/// Reads a plan. Fails if the graph or the machine lacks an item that the plan names; the message
/// has this name. It does not validate the plan: call validatePlan.
Expected<Plan> planFromJson(const Graph &graph, const Machine &machine, const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_PLAN_PLANJSON_H
