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

/// The attribute of a machine: the names, memories, kinds, threads and links that a program declares.
exec::MachineAttr machineToAttribute(mlir::MLIRContext *context, const Machine &machine);
/// The machine of an attribute. Rates have their defaults, because the attribute has none.
Machine machineFromAttribute(exec::MachineAttr attribute);

/// The attribute of a plan's streams, slots and commands. It refers to operators, tensors, devices and memories by
/// name, or by "#" and an index if the name is empty, used twice or like "#7".
exec::PlanAttr planToAttribute(mlir::MLIRContext *context, const Graph &graph, const Machine &machine,
                               const Plan &plan);
/// The plan of an attribute, valid for this graph and machine. An operator's device is that of the streams that launch
/// it. Fails and names what the graph or the machine lacks, or the first rule of validatePlan that the plan violates.
Expected<Plan> planFromAttribute(exec::PlanAttr attribute, const Graph &graph, const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PLANATTRIBUTES_H
