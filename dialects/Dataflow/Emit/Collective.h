//===- Collective.h - What collectives send ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_COLLECTIVE_H
#define SLUICE_DATAFLOW_EMIT_COLLECTIVE_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// The bytes that rank `rank` of `numRanks` sends to others when a collective runs. Emits an error and fails if a
/// member of the operator's group is not one of these ranks.
llvm::FailureOr<int64_t> bytesSent(mlir::Operation *collective, int64_t rank, int64_t numRanks);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_COLLECTIVE_H
