//===- OffsetsCsv.h - MiniMalloc's instance files ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MEMORY_OFFSETSCSV_H
#define SLUICE_MEMORY_OFFSETSCSV_H

#include "sluice/Memory/Offsets.h"

#include <string_view>

namespace sluice {

/// Reads the columns id, lower, upper and size, in any order, and the optional column
/// alignment (MiniMalloc, ASPLOS 2023). Errors name the file as `origin`, and the line. The
/// result passes check() and has no capacity. The file may have a column of offsets. If `offsets` is not null, *offsets
/// receives this column, with one offset for each buffer, or becomes empty if the file has no such column. If `offsets`
/// is null, a column of offsets is an error.
Expected<OffsetProblem> offsetsFromCsv(std::string_view text, std::string_view origin,
                                       std::vector<int64_t> *offsets = nullptr);

/// With a solution, a column of offsets is added, as MiniMalloc does. Fails if an id contains a
/// comma, a quote or a line break.
Expected<std::string> offsetsToCsv(const OffsetProblem &problem, const OffsetSolution *solution = nullptr);

} // namespace sluice

#endif // SLUICE_MEMORY_OFFSETSCSV_H
