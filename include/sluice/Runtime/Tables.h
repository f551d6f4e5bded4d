//===- Tables.h - Entries of a compiled model's tables ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_TABLES_H
#define SLUICE_RUNTIME_TABLES_H

#include "sluice/Runtime/abi.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sluice {

/// Entry number `index` of a table of `sluice_model` (inputs, outputs, states, memories, devices, links, streams). The
/// compiler that made the model may have another minor version. The distance between entries is then the `size` of the
/// first entry, and `table[index]` would read wrong bytes. Fields that an older entry lacks are zero.
template <typename T>
T tableEntry(const T *table, size_t index) {
  T entry{};
  std::memcpy(&entry, reinterpret_cast<const char *>(table) + table->size * index, std::min(table->size, sizeof(T)));
  return entry;
}

} // namespace sluice

#endif // SLUICE_RUNTIME_TABLES_H
