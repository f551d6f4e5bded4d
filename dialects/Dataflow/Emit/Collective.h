//===- Collective.h - What collectives send ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_COLLECTIVE_H
#define SLUICE_DATAFLOW_EMIT_COLLECTIVE_H

#include "dialects/Dataflow/IR/Dataflow.h"

namespace sluice::dataflow {

/// Bytes that one of `numRanks` ranks sends to others when a collective runs. An
/// error on the operator, and failure, where its group has ranks that are not there.
llvm::FailureOr<int64_t> bytesSent(mlir::Operation *collective, int64_t rank, int64_t numRanks);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_COLLECTIVE_H
