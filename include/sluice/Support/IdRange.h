//===- IdRange.h - Loops over strongly typed indices ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_IDRANGE_H
#define SLUICE_SUPPORT_IDRANGE_H

#include "sluice/Support/Ids.h"

namespace sluice {

/// The ids from `first` to below `last`, for range-based loops.
template <typename IdType>
struct IdRange {
  struct Iterator {
    uint32_t value;
    constexpr IdType operator*() const { return IdType(value); }
    constexpr Iterator &operator++() {
      ++value;
      return *this;
    }
    bool operator==(const Iterator &) const = default;
  };
  uint32_t first, last;
  constexpr Iterator begin() const { return {first}; }
  constexpr Iterator end() const { return {last}; }
};

/// The ids from `first` to below `end`, as in `for (TensorId id : idsBelow<TensorId>(graph.numTensors()))`. Empty if
/// `end` is not greater than `first`.
template <typename IdType>
constexpr IdRange<IdType> idsBelow(size_t end, uint32_t first = 0) {
  const auto last = static_cast<uint32_t>(end);
  return {first, last < first ? first : last};
}

} // namespace sluice

#endif // SLUICE_SUPPORT_IDRANGE_H
