//===- IndexRange.cpp - Random indices within a range ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/TensorIO/IndexRange.h"

#include <cstring>

namespace sluice {

template <typename T>
static void bringElementsIntoRange(HostTensor &tensor, int64_t low, int64_t high) {
  const uint64_t last = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  for (size_t at = 0; at < tensor.bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, tensor.bytes.data() + at, sizeof value);
    // Every value is inside where the length does not fit 64 bits.
    if (value >= low && value <= high)
      continue;
    value = static_cast<T>(low + static_cast<int64_t>(static_cast<uint64_t>(value) % (last + 1)));
    std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
  }
}

void bringIntoRange(HostTensor &tensor, int64_t low, int64_t high) {
  if (tensor.type == ElementType::Int32)
    bringElementsIntoRange<int32_t>(tensor, low, high);
  else if (tensor.type == ElementType::Int64)
    bringElementsIntoRange<int64_t>(tensor, low, high);
}

} // namespace sluice
