//===- Skip.h - Cases that cannot run here ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Catch2 v2 has no SKIP. A case that lacks something says `return skip("why");`.
// The program then exits with kSkipStatus if no assertion of the run failed and
// every case that ran was skipped; ctest counts only this status as skipped
// (SKIP_RETURN_CODE), so text that a failing test prints hides nothing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SKIP_H
#define SLUICE_TEST_UNIT_SKIP_H

#include <string>

namespace sluice::test {

inline constexpr int kSkipStatus = 77;

/// Marks the running case as skipped and prints `skipped: <why>`. The case must return next.
void skip(const std::string &why);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SKIP_H
