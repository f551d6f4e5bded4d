//===- CountedLoops.h - Loops whose condition compares a counter -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H
#define SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H

#include "NodeContext.h"

namespace sluice::onnximport {

struct CountedTrips {
  mlir::Value trips;    ///< An i64 scalar; null: the condition does not tell.
  bool isExact = false; ///< The number is a constant, and the condition becomes false after exactly as many iterations.
};

/// The value of a name that a body does not define; null: it has none.
using ValueLookup = llvm::function_ref<mlir::Value(const std::string &)>;

/// The number of iterations after which the condition that a Loop's body computes is false at the latest. The condition
/// compares two numbers, to each of which an iteration adds a constant or nothing. Whether the loop runs at all is told
/// by its initial condition, which is not looked at. `inputs` are those of the node: trip count, condition, states.
CountedTrips countTrips(NodeContext &context, const ::onnx::GraphProto &body, llvm::ArrayRef<mlir::Value> inputs,
                        ValueLookup outside);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H
