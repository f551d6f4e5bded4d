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
  bool isExact = false; ///< The condition is false after so many iterations, and not before; the number is a constant.
};

/// The value of a name that a body does not define; null: it has none.
using ValueLookup = llvm::function_ref<mlir::Value(const std::string &)>;

/// How many iterations a Loop runs at most, if its initial condition is true, as far as its body's condition tells: it
/// compares what a constant is added to in each iteration with what no iteration changes. `inputs` are the node's, of
/// which the first states start at position 2.
CountedTrips countTrips(NodeContext &context, const ::onnx::GraphProto &body, llvm::ArrayRef<mlir::Value> inputs,
                        ValueLookup outside);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_COUNTEDLOOPS_H
