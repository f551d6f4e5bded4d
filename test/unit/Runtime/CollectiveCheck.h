//===- CollectiveCheck.h - Collectives against their definition -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_RUNTIME_COLLECTIVECHECK_H
#define SLUICE_TEST_UNIT_RUNTIME_COLLECTIVECHECK_H

#include "Collective.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace sluice::test {

/// A random collective over a mesh of `numRanks` ranks, and how many bytes its
/// result has. With `mayBeUneven` its parts may differ.
struct RandomCollective {
  uint32_t kind = 0;
  sluice_collective what{};
  int64_t members = 1, resultBytes = 0;
  bool isUneven = false;
  int64_t row = 0; ///< Bytes of a row of an uneven dimension that is cut or joined alone.

  RandomCollective(std::mt19937 &random, uint32_t numRanks, bool mayBeUneven = false) {
    auto draw = [&](int64_t low, int64_t high) { return low + static_cast<int64_t>(random() % (high - low + 1)); };
    // A mesh of prime factors, and some of its axes in any order.
    std::vector<std::pair<int64_t, int64_t>> axes;
    int64_t stride = 1;
    for (int64_t left = numRanks, factor = 2; left > 1;) {
      if (left % factor != 0) {
        ++factor;
        continue;
      }
      axes.emplace_back(factor, stride);
      stride *= factor, left /= factor;
    }
    std::shuffle(axes.begin(), axes.end(), random);
    const auto own = draw(1, static_cast<int64_t>(axes.size()));
    const std::vector<std::pair<int64_t, int64_t>> others(axes.begin() + own, axes.end());
    axes.resize(static_cast<size_t>(own));
    for (auto [count, stride] : axes) {
      what.axes[what.num_axes++] = {count, stride};
      members *= count;
    }
    kind = static_cast<uint32_t>(draw(0, SLUICE_COLLECTIVE_HALO));
    what.reduction = draw(0, 2);
    const int64_t types[] = {1, 6, 7, 11};
    what.element_type = types[draw(0, 3)];
    const int64_t element = what.element_type == 1 || what.element_type == 6 ? 4 : 8;
    // A dense chunk of [a][b][c] elements, cut or joined along the first two.
    const int64_t a = draw(1, 3), b = draw(1, 4), c = draw(0, 5) * element;
    what.split_outer = a, what.split_inner = b * c;
    what.join_outer = a * b, what.join_inner = c;
    const int64_t chunk = a * b * c;
    what.extent = b, what.low = draw(0, b), what.high = draw(0, b);
    switch (kind) {
    case SLUICE_COLLECTIVE_ALL_REDUCE:
      what.bytes = resultBytes = draw(0, 40) * element;
      break;
    case SLUICE_COLLECTIVE_ALL_GATHER:
      what.bytes = chunk, resultBytes = members * chunk;
      break;
    case SLUICE_COLLECTIVE_ALL_TO_ALL:
      what.bytes = resultBytes = members * chunk;
      break;
    case SLUICE_COLLECTIVE_HALO:
      what.split_inner = c;
      what.fill = 0x0102030405060708, what.fill_bytes = draw(0, 1) * element;
      what.bytes = chunk, resultBytes = a * (what.low + b + what.high) * c;
      break;
    default:
      what.bytes = members * chunk, resultBytes = chunk;
    }
    if (!mayBeUneven || kind == SLUICE_COLLECTIVE_ALL_REDUCE || draw(0, 1) == 0)
      return;
    isUneven = true;
    row = draw(0, 3) * element;
    // Axes outside of the group split the one dimension, or the other, or none.
    std::vector<std::pair<int64_t, int64_t>> outside[2];
    for (auto axis : others)
      if (const int64_t which = draw(0, 2); which < 2 && kind != SLUICE_COLLECTIVE_HALO)
        outside[which].push_back(axis);
    int64_t whole[2], room[2];
    for (int which : {0, 1}) {
      sluice_uneven &uneven = which == 0 ? what.split : what.join;
      int64_t parts = 1;
      for (auto [count, stride] : outside[which]) {
        uneven.axes[uneven.num_axes++] = {count, stride};
        parts *= count;
      }
      uneven.extent = parts * members + draw(0, 2 * parts * members);
      whole[which] = (uneven.extent + parts - 1) / parts;
      room[which] = (uneven.extent + parts * members - 1) / (parts * members);
    }
    switch (kind) {
    case SLUICE_COLLECTIVE_ALL_GATHER:
      what.split = {};
      what.join_outer = a, what.join_inner = room[1] * row;
      what.bytes = a * room[1] * row, resultBytes = a * whole[1] * row;
      break;
    case SLUICE_COLLECTIVE_ALL_TO_ALL:
      what.before = a, what.between = b, what.after = row, what.join_first = draw(0, 1);
      what.bytes = a * b * row * room[1] * whole[0], resultBytes = a * b * row * whole[1] * room[0];
      break;
    case SLUICE_COLLECTIVE_HALO:
      what.join = {};
      what.split_outer = a, what.split_inner = row;
      what.extent = room[0], what.low = draw(0, what.split.extent / members);
      what.high = draw(0, what.split.extent / members);
      what.bytes = a * room[0] * row, resultBytes = a * (what.low + room[0] + what.high) * row;
      break;
    default:
      what.join = {};
      what.split_outer = a, what.split_inner = room[0] * row;
      what.bytes = a * whole[0] * row, resultBytes = a * room[0] * row;
    }
  }
};

/// A dimension of uneven parts as one rank sees it.
struct UnevenView {
  int64_t extent, outside = 1, position = 0;
  int64_t size, own;

  UnevenView(const sluice_uneven &uneven, const runtime::Group &group)
      : extent(uneven.extent), size(static_cast<int64_t>(group.members.size())), own(group.position) {
    for (int64_t a = 0; a < uneven.num_axes; ++a) {
      outside *= uneven.axes[a].count;
      position = position * uneven.axes[a].count +
                 group.members[group.position] / uneven.axes[a].stride % uneven.axes[a].count;
    }
  }
  /// The first element of a member's part; of the group's elements for member 0, and their end for member `size`.
  int64_t begin(int64_t member) const { return extent * (position * size + member) / (outside * size); }
  int64_t whole() const { return (extent + outside - 1) / outside; }
  int64_t room() const { return (extent + outside * size - 1) / (outside * size); }
  /// The element at a place of this rank's part, or of the group's elements, by their copies at the end.
  int64_t ofPart(int64_t at) const { return std::min(begin(own) + at, begin(own + 1) - 1); }
  int64_t ofWhole(int64_t at) const { return std::min(begin(0) + at, begin(size) - 1); }
  int64_t holderOf(int64_t element) const {
    int64_t member = 0;
    while (begin(member + 1) <= element)
      ++member;
    return member;
  }
};

/// Small whole numbers, so that sums are exact in any order.
inline std::vector<char> operandOf(const RandomCollective &each, uint32_t rank, uint32_t seed) {
  std::mt19937 random(seed * 1000 + rank);
  std::vector<char> bytes(static_cast<size_t>(each.what.bytes));
  auto fill = [&](auto zero) {
    for (size_t i = 0; i + sizeof zero <= bytes.size(); i += sizeof zero) {
      auto value = static_cast<decltype(zero)>(static_cast<int>(random() % 201) - 100);
      std::memcpy(&bytes[i], &value, sizeof value);
    }
  };
  each.what.element_type == 1   ? fill(0.0f)
  : each.what.element_type == 6 ? fill(int32_t(0))
  : each.what.element_type == 7 ? fill(int64_t(0))
                                : fill(0.0);
  return bytes;
}

/// Element by element, by the definition in abi.h.
inline std::vector<char> expectedOf(const RandomCollective &each, const std::vector<std::vector<char>> &operands,
                                    size_t position) {
  const sluice_collective &what = each.what;
  std::vector<char> result(static_cast<size_t>(each.resultBytes));
  const int64_t size = each.members;
  auto combined = [&](auto zero, auto offsetOf) {
    using T = decltype(zero);
    for (size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
      T value{};
      for (size_t r = 0; r < operands.size(); ++r) {
        T other;
        std::memcpy(&other, operands[r].data() + offsetOf(static_cast<int64_t>(at)), sizeof other);
        value = r == 0                ? other
                : what.reduction == 0 ? value + other
                : what.reduction == 1 ? std::max(value, other)
                                      : std::min(value, other);
      }
      std::memcpy(&result[at], &value, sizeof value);
    }
  };
  auto reduce = [&](auto offsetOf) {
    what.element_type == 1   ? combined(0.0f, offsetOf)
    : what.element_type == 6 ? combined(int32_t(0), offsetOf)
    : what.element_type == 7 ? combined(int64_t(0), offsetOf)
                             : combined(0.0, offsetOf);
  };
  /// Where byte `at` of part `part` is in the split tensor.
  auto inSplit = [&](int64_t at, int64_t part) {
    return (at / what.split_inner * size + part) * what.split_inner + at % what.split_inner;
  };
  for (int64_t at = 0; at < each.resultBytes; ++at) {
    char &byte = result[static_cast<size_t>(at)];
    const int64_t p = static_cast<int64_t>(position);
    if (each.kind == SLUICE_COLLECTIVE_SHARD) {
      byte = operands[position][static_cast<size_t>(inSplit(at, p))];
    } else if (each.kind == SLUICE_COLLECTIVE_ALL_GATHER || each.kind == SLUICE_COLLECTIVE_ALL_TO_ALL) {
      const int64_t row = at / what.join_inner, part = row % size;
      const int64_t chunkAt = row / size * what.join_inner + at % what.join_inner;
      const bool splits = each.kind == SLUICE_COLLECTIVE_ALL_TO_ALL;
      byte = operands[static_cast<size_t>(part)][static_cast<size_t>(splits ? inSplit(chunkAt, p) : chunkAt)];
    } else if (each.kind == SLUICE_COLLECTIVE_HALO) {
      const int64_t inner = what.split_inner, whole = what.low + what.extent + what.high;
      const int64_t outer = at / (whole * inner), row = at / inner % whole - what.low + p * what.extent;
      byte = row < 0 || row >= size * what.extent
                 ? (what.fill_bytes == 0 ? 0 : reinterpret_cast<const char *>(&what.fill)[at % what.fill_bytes])
                 : operands[static_cast<size_t>(row / what.extent)]
                           [static_cast<size_t>((outer * what.extent + row % what.extent) * inner + at % inner)];
    }
  }
  if (each.kind == SLUICE_COLLECTIVE_ALL_REDUCE)
    reduce([](int64_t at) { return at; });
  if (each.kind == SLUICE_COLLECTIVE_REDUCE_SCATTER)
    reduce([&](int64_t at) { return inSplit(at, static_cast<int64_t>(position)); });
  return result;
}

/// The same for uneven parts: of each byte, which member has it and where. -1: a fill value.
inline std::vector<char> expectedUneven(const RandomCollective &each, const std::vector<std::vector<char>> &operands,
                                        const runtime::Group &group) {
  const sluice_collective &what = each.what;
  const UnevenView split(what.split.extent ? what.split : what.join, group),
      join(what.join.extent ? what.join : what.split, group);
  auto source = [&](int64_t at) -> std::pair<int64_t, int64_t> {
    if (each.kind == SLUICE_COLLECTIVE_ALL_TO_ALL) {
      const int64_t x = what.join_first ? join.whole() : split.room(),
                    y = what.join_first ? split.room() : join.whole();
      const int64_t byte = at % what.after, inY = at / what.after % y, between = at / what.after / y % what.between,
                    inX = at / what.after / y / what.between % x, before = at / what.after / y / what.between / x;
      const int64_t joined = join.ofWhole(what.join_first ? inX : inY),
                    cut = split.ofPart(what.join_first ? inY : inX) - split.begin(0);
      const int64_t holder = join.holderOf(joined), place = joined - join.begin(holder);
      const int64_t fromX = what.join_first ? place : cut, fromY = what.join_first ? cut : place;
      const int64_t sizeX = what.join_first ? join.room() : split.whole(),
                    sizeY = what.join_first ? split.whole() : join.room();
      return {holder, (((before * sizeX + fromX) * what.between + between) * sizeY + fromY) * what.after + byte};
    }
    const int64_t row = each.row, byte = at % row;
    if (each.kind == SLUICE_COLLECTIVE_ALL_GATHER) {
      const int64_t element = join.ofWhole(at / row % join.whole()), holder = join.holderOf(element);
      return {holder, (at / row / join.whole() * join.room() + element - join.begin(holder)) * row + byte};
    }
    if (each.kind == SLUICE_COLLECTIVE_HALO) {
      const int64_t rows = what.low + what.extent + what.high, outer = at / row / rows;
      const int64_t element =
          std::min(split.begin(split.own) - what.low + at / row % rows, split.begin(split.own + 1) + what.high - 1);
      if (element < 0 || element >= split.extent)
        return {-1, 0};
      const int64_t holder = split.holderOf(element);
      return {holder, (outer * what.extent + element - split.begin(holder)) * row + byte};
    }
    const int64_t cut = split.ofPart(at / row % split.room()) - split.begin(0);
    return {static_cast<int64_t>(group.position), (at / row / split.room() * split.whole() + cut) * row + byte};
  };
  std::vector<char> result(static_cast<size_t>(each.resultBytes));
  if (each.kind != SLUICE_COLLECTIVE_REDUCE_SCATTER) {
    for (int64_t at = 0; at < each.resultBytes; ++at) {
      const auto [holder, from] = source(at);
      result[static_cast<size_t>(at)] = holder >= 0 ? operands[static_cast<size_t>(holder)][static_cast<size_t>(from)]
                                        : what.fill_bytes == 0
                                            ? char(0)
                                            : reinterpret_cast<const char *>(&what.fill)[at % what.fill_bytes];
    }
    return result;
  }
  auto combine = [&](auto zero) {
    using T = decltype(zero);
    for (size_t at = 0; at + sizeof(T) <= result.size(); at += sizeof(T)) {
      const auto from = static_cast<size_t>(source(static_cast<int64_t>(at)).second);
      T value{};
      for (size_t r = 0; r < operands.size(); ++r) {
        T other;
        std::memcpy(&other, operands[r].data() + from, sizeof other);
        value = r == 0                ? other
                : what.reduction == 0 ? value + other
                : what.reduction == 1 ? std::max(value, other)
                                      : std::min(value, other);
      }
      std::memcpy(&result[at], &value, sizeof value);
    }
  };
  what.element_type == 1   ? combine(0.0f)
  : what.element_type == 6 ? combine(int32_t(0))
  : what.element_type == 7 ? combine(int64_t(0))
                           : combine(0.0);
  return result;
}

/// Runs `count` random collectives as one rank, all ranks with the same seed.
/// What differs from the definition, or ""; checks the bytes sent too.
inline std::string checkCollectives(const sluice_communicator &communicator, uint32_t seed, int count) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const RandomCollective each(random, communicator.num_ranks, /*mayBeUneven=*/true);
    auto group = runtime::groupOf(each.kind, each.what, communicator.rank, communicator.num_ranks);
    if (!group)
      return group.error();
    std::vector<std::vector<char>> operands;
    for (uint32_t member : group->members)
      operands.push_back(operandOf(each, member, seed + static_cast<uint32_t>(i)));
    std::vector<char> result(static_cast<size_t>(each.resultBytes), 'x');
    std::vector<char> workspace(
        static_cast<size_t>(runtime::collectiveWorkspace(each.kind, each.what, group->members.size())));
    int64_t sent = 0;
    const bool inPlace = each.kind == SLUICE_COLLECTIVE_ALL_REDUCE && i % 2 == 0;
    std::vector<char> &own = operands[group->position];
    std::vector<char> expected =
        each.isUneven ? expectedUneven(each, operands, *group) : expectedOf(each, operands, group->position);
    auto status = runtime::runCollective(communicator, each.kind, each.what, own.data(),
                                         inPlace ? own.data() : result.data(), workspace.data(), sent);
    const std::string where = "collective " + std::to_string(i) + " of kind " + std::to_string(each.kind) + ", rank " +
                              std::to_string(communicator.rank) + ": ";
    if (!status)
      return where + status.error();
    if ((inPlace ? own : result) != expected)
      return where + "another result";
    if (sent != runtime::bytesSent(each.kind, each.what, *group))
      return where + std::to_string(sent) + " bytes sent";
  }
  return {};
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_RUNTIME_COLLECTIVECHECK_H
