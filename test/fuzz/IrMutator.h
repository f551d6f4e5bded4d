//===- IrMutator.h - Changes tokens of IR, not bytes ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_FUZZ_IRMUTATOR_H
#define SLUICE_TEST_FUZZ_IRMUTATOR_H

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::fuzz {

struct KnownPass {
  const char *name;
  bool onFunctions;
};

/// A pass that opens no file for writing; null: there is none of this name.
const KnownPass *findPass(std::string_view name);

/// Changes numbers, types, operands, words or lines in one to four places. A changed type or number often changes
/// everywhere, because a program in which one type differs from the others is seldom valid. The same seed makes the
/// same changes.
std::string mutateIr(std::string_view text, uint64_t seed);

} // namespace sluice::fuzz

#endif // SLUICE_TEST_FUZZ_IRMUTATOR_H
