//===- Csv.h - Tables for programs ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_CSV_H
#define SLUICE_TOOLS_SLUICEBENCH_CSV_H

#include "sluice/Support/Json.h"

namespace sluice::bench {

/// To standard output, an object of `rows` a line; a column for each key that one
/// of them has. Objects within become columns NAME_KEY; arrays are left out.
void printCsv(const Json &rows);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_CSV_H
