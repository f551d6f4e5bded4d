//===- NearestNames.h - What a name may have meant --------------*- C++ -*-===//
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

/// Of names that are known, those that `name` may have meant, the nearest first, each once: by the least number of
/// characters inserted, removed or replaced, without regard to case, of at most a third of the name's; then those that
/// contain it. At most `most`. Names of more than 200 bytes are not compared. O(known x length^2).
std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string_view> &known,
                                      size_t most = 3);

} // namespace sluice

#endif // SLUICE_SUPPORT_NEARESTNAMES_H
