//===- NearestNames.h - Suggestions for misspelled names --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_NEARESTNAMES_H
#define SLUICE_SUPPORT_NEARESTNAMES_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Suggestions for a misspelled `name`: at most `most` different names of `known`. Names with few edits come first. An
/// edit inserts, removes or replaces one byte; a name may have at most one edit for each three bytes of `name`, or a
/// single edit if `name` is shorter. Then come names that contain `name`, shorter names first. The case of ASCII
/// letters is ignored. Names of more than 200 bytes are not compared. O(known x length^2).
std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string_view> &known,
                                      size_t most = 3);

} // namespace sluice

#endif // SLUICE_SUPPORT_NEARESTNAMES_H
