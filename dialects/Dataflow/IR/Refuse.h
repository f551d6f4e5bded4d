//===- Refuse.h - Diagnostics about the user's program ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_REFUSE_H
#define SLUICE_DATAFLOW_IR_REFUSE_H

#include "sluice/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace sluice {

/// Begins an error about an operation; append the text by `<<`. FirstError returns `code` for it. An error of
/// Operation::emitError has no code, and tools report it as a bug.
inline mlir::InFlightDiagnostic refuse(mlir::Operation *op, ErrorCode code) {
  mlir::InFlightDiagnostic diagnostic = op->emitError();
  if (mlir::Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic())
    underlying->getMetadata().push_back(mlir::DiagnosticArgument(static_cast<int64_t>(code)));
  return diagnostic;
}

/// The same for a valid operation that is not supported. The text begins with the operation's name.
inline mlir::InFlightDiagnostic refuseUnsupported(mlir::Operation *op) {
  mlir::InFlightDiagnostic diagnostic = refuse(op, ErrorCode::Unsupported);
  diagnostic << "'" << op->getName() << "' op ";
  return diagnostic;
}

} // namespace sluice

#endif // SLUICE_DATAFLOW_IR_REFUSE_H
