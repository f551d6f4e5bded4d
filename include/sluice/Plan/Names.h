//===- Names.h - What plan files call things --------------------*- C++ -*-===//
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

/// Names of the operators, tensors, devices or memories of one plan, each of one thing: a name that is empty, used
/// twice, or like "#7" is written as "#index". The items named outlive this.
class PlanNames {
public:
  template <typename Range>
  explicit PlanNames(const Range &items) {
    for (const auto &item : items)
      add(item.name);
  }

  std::string write(uint32_t index) const;
  /// The thing that write() calls so; none where it calls nothing so.
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
