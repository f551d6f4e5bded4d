//===- Names.h - Names of operators and tensors in plan files ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLAN_NAMES_H
#define SLUICE_PLAN_NAMES_H

#include "sluice/Support/Ids.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice {

/// Unique names of the operators, tensors, devices or memories of one plan. If the own name of an item is empty, not
/// unique, or begins with "#", its unique name is "#" and its index, such as "#7". The items must outlive this object.
class PlanNames {
public:
  template <typename Range>
  explicit PlanNames(const Range &items) {
    for (const auto &item : items)
      add(item.name);
  }

  /// The unique name of an item.
  std::string write(uint32_t index) const;
  /// The index of the item with this unique name; empty if there is none.
  std::optional<uint32_t> find(std::string_view text) const;
  size_t size() const { return names.size(); }

private:
  static constexpr uint32_t kAmbiguous = Id<void>::kNone;
  std::vector<std::string_view> names;
  std::unordered_map<std::string_view, uint32_t> indices;

  void add(std::string_view name);
};

} // namespace sluice

#endif // SLUICE_PLAN_NAMES_H
