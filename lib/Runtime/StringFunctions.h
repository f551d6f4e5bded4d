//===- StringFunctions.h - Functions on text --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_STRINGFUNCTIONS_H
#define SLUICE_RUNTIME_STRINGFUNCTIONS_H

#include "sluice/Runtime/abi.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::runtime {

/// Text that a step's kernels make. Any thread may take; addresses stay until
/// clear().
class TextStore {
public:
  /// Throws where there is no memory.
  char *take(size_t bytes);
  void clear();

  /// Why a function failed, until the next step; the first of several.
  void fail(const std::string &why);
  std::string problem() const;

private:
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<char[]>> blocks;
  size_t left = 0; ///< Of the last block.
  std::string failed;
};

/// abi.h's sluice_string_function. Returns 0, or 1 where settings do not fit the
/// function, 2 where there is no memory, 3 where the operands' values are wrong, which
/// store.problem() then explains. Throws nothing.
int32_t runStringFunction(TextStore &store, uint32_t function, void *const *args, std::string_view settings);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_STRINGFUNCTIONS_H
