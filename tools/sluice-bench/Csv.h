//===- Csv.h - Cells and tables ---------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_CSV_H
#define SLUICE_TOOLS_SLUICEBENCH_CSV_H

#include "sluice/Support/Json.h"

#include <optional>

namespace sluice::bench {

/// To standard output, an object of `rows` a line; a column for each key that one
/// of them has. Objects within become columns NAME_KEY; arrays are left out.
void printCsv(const Json &rows);

Json orNull(std::optional<double> value);
/// part / whole; a whole below 1 counts as 1.
double ratio(int64_t part, int64_t whole);
/// The row's number as text; "-" where it has none.
std::string cell(const Json &row, const std::string &key, const char *format = "%.3f");

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_CSV_H
