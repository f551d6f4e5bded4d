//===- PlanAttributes.h - Machines and plans as attributes ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_PLANATTRIBUTES_H
#define SLUICE_PASSES_BRIDGE_PLANATTRIBUTES_H

#include "dialects/Exec/Exec.h"
#include "sluice/Plan/Plan.h"

namespace sluice {

exec::DeviceKind toExec(DeviceKind kind);
exec::StreamKind toExec(StreamKind kind);

/// What a program of the machine declares: names, memories, kinds, threads, links.
exec::MachineAttr machineToAttribute(mlir::MLIRContext *context, const Machine &machine);
/// A machine with what the attribute says, and a planner's rates as they are by
/// default.
Machine machineFromAttribute(exec::MachineAttr attribute);

/// The plan's streams, slots and commands. Operators, tensors, devices and memories
/// are named; a name that is empty, used twice or like "#7" is "#" and an index.
exec::PlanAttr planToAttribute(mlir::MLIRContext *context, const Graph &graph, const Machine &machine,
                               const Plan &plan);
/// The plan of an attribute, valid for this graph and machine. An operator's device is
/// that of the streams that launch it. Fails naming what is not in the graph or the
/// machine, or the first rule of validatePlan that is broken.
Expected<Plan> planFromAttribute(exec::PlanAttr attribute, const Graph &graph, const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PLANATTRIBUTES_H
