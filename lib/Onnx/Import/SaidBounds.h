//===- SaidBounds.h - Bounds that the user gives ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_SAIDBOUNDS_H
#define SLUICE_LIB_ONNX_IMPORT_SAIDBOUNDS_H

#include "sluice/Onnx/Dimensions.h"

#include <map>
#include <set>
#include <string>

namespace sluice::onnximport {

/// The bounds of option `--bound`, by the names of tensors, and which of them a model's import has used.
class SaidBounds {
public:
  SaidBounds() = default;
  explicit SaidBounds(std::map<std::string, ValueBounds> bounds) : bounds(std::move(bounds)) {}

  /// The bound of a tensor; null if there is none. A returned bound counts as used.
  const ValueBounds *use(const std::string &name) const {
    auto found = bounds.find(name);
    if (found == bounds.end())
      return nullptr;
    used.insert(name);
    return &found->second;
  }
  const std::map<std::string, ValueBounds> &all() const { return bounds; }
  /// The name of the first bound that was not used; null if all were used.
  const std::string *firstUnused() const {
    for (const auto &[name, bound] : bounds)
      if (!used.count(name))
        return &name;
    return nullptr;
  }

private:
  std::map<std::string, ValueBounds> bounds;
  mutable std::set<std::string> used;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_SAIDBOUNDS_H
