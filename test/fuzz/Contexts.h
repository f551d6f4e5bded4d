//===- Contexts.h - A context that inputs share -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_CONTEXTS_H
#define SLUICE_TEST_FUZZ_CONTEXTS_H

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace sluice::fuzz {

/// The context of the next input, without threads. Making a context takes longer than most inputs take, so several
/// inputs share one. A context keeps the types, attributes and weights of all its inputs, so it is replaced in time.
template <typename Make>
std::shared_ptr<mlir::MLIRContext> nextContext(Make make) {
  constexpr unsigned kInputs = 64;
  static std::shared_ptr<mlir::MLIRContext> context;
  static unsigned inputs = 0;
  if (inputs++ % kInputs == 0) {
    context = make();
    context->disableMultithreading();
  }
  return context;
}

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_CONTEXTS_H
