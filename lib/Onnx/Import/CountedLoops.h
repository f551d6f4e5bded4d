//===- CountedLoops.h - Loops whose condition compares a counter -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H
#define SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H

#include "NodeContext.h"

namespace sluice::onnximport {

struct CountedTrips {
  mlir::Value trips; ///< An i64 scalar; null if the condition does not determine the number.
  /// Whether the number is a constant, and the condition becomes false after exactly this many iterations.
  bool isExact = false;
};

/// Returns the value of a name that a body does not define; null if it has none.
using ValueLookup = llvm::function_ref<mlir::Value(const std::string &)>;

/// The largest number of iterations after which the condition that a Loop's body computes becomes false. Only
/// conditions that compare two numbers are followed, to each of which an iteration adds a constant or nothing. The
/// initial condition, which decides whether the loop runs at all, is ignored. `inputs` are those of the node: trip
/// count, condition, states.
CountedTrips countTrips(NodeContext &context, const ::onnx::GraphProto &body, llvm::ArrayRef<mlir::Value> inputs,
                        ValueLookup outside);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H
