//===- Ids.h - Strongly typed indices ---------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_IDS_H
#define SLUICE_SUPPORT_IDS_H

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace sluice {

/// An index into one kind of array. Ids of different kinds are different types, so they cannot be confused.
template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t value = kNone;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t value) : value(value) {}
  constexpr explicit Id(size_t value) : value(static_cast<uint32_t>(value)) {}
  constexpr explicit Id(int value) : value(static_cast<uint32_t>(value)) {}
  /// False for a default-constructed id, which stands for no item.
  constexpr bool valid() const { return value != kNone; }
  constexpr size_t index() const { return value; }
  auto operator<=>(const Id &) const = default;
};

using OperatorId = Id<struct OperatorTag>;
using TensorId = Id<struct TensorTag>;
using DeviceId = Id<struct DeviceTag>;
using MemoryId = Id<struct MemoryTag>;
using LinkId = Id<struct LinkTag>;
using CommandId = Id<struct CommandTag>;
using ResidencyId = Id<struct ResidencyTag>;
using StreamId = Id<struct StreamTag>;

} // namespace sluice

template <typename Tag>
struct std::hash<sluice::Id<Tag>> {
  size_t operator()(sluice::Id<Tag> id) const noexcept { return id.value; }
};

#endif // SLUICE_SUPPORT_IDS_H
