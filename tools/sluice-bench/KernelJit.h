//===- KernelJit.h - Runs one emitted kernel --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiles a single chunk function in memory, for the kernel benchmark and the
// emitters' unit tests.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_KERNELJIT_H
#define SLUICE_TOOLS_SLUICEBENCH_KERNELJIT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <memory>
#include <string>

namespace mlir {
class ExecutionEngine;
}

namespace sluice::bench {

/// `pointers` are the function's three operands; begin and end are i64.
using KernelBody = std::function<void(mlir::OpBuilder &, mlir::Location, mlir::ValueRange pointers, mlir::Value begin,
                                      mlir::Value end)>;

/// A kernel `void (const void *, const void *, void *, int64_t begin, int64_t end)`.
class Kernel {
public:
  /// Null when the body does not verify or lower; MLIR's diagnostics say why.
  static std::unique_ptr<Kernel> compile(const KernelBody &body);
  ~Kernel();

  void operator()(const void *a, const void *b, void *c, int64_t begin, int64_t end) const {
    function(a, b, c, begin, end);
  }
  /// Processor time of lowering, optimizing and generating code.
  double compileMs() const { return milliseconds; }
  /// Writes the object file, to read its assembly.
  void dumpObject(const std::string &path) const;

private:
  Kernel();
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::ExecutionEngine> engine;
  void (*function)(const void *, const void *, void *, int64_t, int64_t) = nullptr;
  double milliseconds = 0;
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_KERNELJIT_H
