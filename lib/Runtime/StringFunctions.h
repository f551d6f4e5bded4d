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

/// Memory for the text that a step's kernels make. Any thread may call take(). Addresses stay valid until clear().
class TextStore {
public:
  /// Throws std::bad_alloc if there is no memory.
  char *take(size_t bytes);
  void clear();

  /// Records why a function failed. Keeps the first message until the next step.
  void fail(const std::string &why);
  std::string problem() const;

private:
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<char[]>> blocks;
  size_t left = 0; ///< Unused bytes of the last block.
  std::string failed;
};

/// Runs a sluice_string_function of abi.h. Returns 0 if it succeeded, 1 if the settings do not fit the function, 2 if
/// there is no memory, and 3 if the operands' values are wrong, which store.problem() then explains. Throws nothing.
int32_t runStringFunction(TextStore &store, uint32_t function, void *const *args, std::string_view settings);

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_STRINGFUNCTIONS_H
