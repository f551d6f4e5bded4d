//===- OffsetsCsv.h - MiniMalloc's instance files ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MEMORY_OFFSETSCSV_H
#define SLUICE_MEMORY_OFFSETSCSV_H

#include "sluice/Memory/Offsets.h"

#include <string_view>

namespace sluice {

/// Reads the columns id, lower, upper and size, in any order, and alignment
/// where there is one (MiniMalloc, ASPLOS 2023). `origin` names the file in
/// errors, which name the line. The result passes check(); it has no capacity.
/// A column of offsets is an error, unless `offsets` is given to take it: one a
/// buffer, or none where the file has no such column.
Expected<OffsetProblem> offsetsFromCsv(std::string_view text, std::string_view origin,
                                       std::vector<int64_t> *offsets = nullptr);

/// With a solution, a column of offsets is added, as MiniMalloc does. Fails
/// where an id holds a comma, a quote or a line end.
Expected<std::string> offsetsToCsv(const OffsetProblem &problem, const OffsetSolution *solution = nullptr);

} // namespace sluice

#endif // SLUICE_MEMORY_OFFSETSCSV_H
