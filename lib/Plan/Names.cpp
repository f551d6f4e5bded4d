//===- Names.cpp - What plan files call things ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/Names.h"

#include "sluice/Support/Units.h"

namespace sluice {

void PlanNames::add(std::string_view name) {
  auto [found, isNew] = indices.try_emplace(name, static_cast<uint32_t>(names.size()));
  if (!isNew)
    found->second = kAmbiguous;
  names.push_back(name);
}

std::string PlanNames::write(uint32_t index) const {
  const std::string_view name = names[index];
  if (name.empty() || name.front() == '#' || indices.at(name) == kAmbiguous)
    return concat("#", index);
  return std::string(name);
}

std::optional<uint32_t> PlanNames::find(std::string_view text) const {
  if (text.starts_with('#')) {
    Expected<int64_t> index = parseInteger(text.substr(1));
    if (index && *index >= 0 && static_cast<uint64_t>(*index) < names.size())
      return static_cast<uint32_t>(*index);
    return std::nullopt;
  }
  auto found = indices.find(text);
  if (found == indices.end() || found->second == kAmbiguous)
    return std::nullopt;
  return found->second;
}

} // namespace sluice
