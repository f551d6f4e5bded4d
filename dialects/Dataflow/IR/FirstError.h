//===- FirstError.h - Diagnostics as errors, and back -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_IR_FIRSTERROR_H
#define SLUICE_DIALECTS_DATAFLOW_IR_FIRSTERROR_H

#include "sluice/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace sluice {

/// Emits an error. FirstError finds its code in the diagnostic's metadata.
inline void emitError(mlir::Location location, const Error &error) {
  mlir::InFlightDiagnostic diagnostic = mlir::emitError(location) << error.message;
  if (mlir::Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic())
    underlying->getMetadata().push_back(mlir::DiagnosticArgument(static_cast<int64_t>(error.code)));
}
inline void emitError(mlir::Operation *op, const Error &error) { emitError(op->getLoc(), error); }

/// While this object lives, it keeps the first error that is emitted in the context and drops all other diagnostics.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) { keep(diagnostic); }) {}

  bool isFound() const { return location.has_value(); }
  const std::string &message() const { return error.message; }
  /// The message, or `fallback` if no error was emitted.
  std::string messageOr(const std::string &fallback) const { return isFound() ? error.message : fallback; }
  /// The code of an error that sluice::emitError emitted; Internal for other diagnostics.
  ErrorCode code() const { return error.code; }
  /// The location of the error; null if no error was emitted.
  mlir::LocationAttr where() const { return location ? mlir::LocationAttr(*location) : mlir::LocationAttr(); }

private:
  void keep(mlir::Diagnostic &diagnostic) {
    if (isFound() || diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
      return;
    location = diagnostic.getLocation();
    error.message = diagnostic.str();
    for (const mlir::DiagnosticArgument &each : diagnostic.getMetadata())
      if (each.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::Integer)
        error.code = static_cast<ErrorCode>(each.getAsInteger());
  }

  Error error;
  std::optional<mlir::Location> location;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sluice

#endif // SLUICE_DIALECTS_DATAFLOW_IR_FIRSTERROR_H
