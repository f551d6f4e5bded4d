//===- Sizes.h - Programs of which a target takes all phases ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_SIZES_H
#define SLUICE_TEST_FUZZ_SIZES_H

#include "mlir/IR/BuiltinOps.h"

namespace sluice::fuzz {

/// Whether a program has at most 200 operations and 4 MiB of tensors.
bool isSmall(mlir::ModuleOp module);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_SIZES_H
