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
/// result has.
struct RandomCollective {
  uint32_t kind = 0;
  sluice_collective what{};
  int64_t members = 1, resultBytes = 0;

  RandomCollective(std::mt19937 &random, uint32_t numRanks) {
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
    axes.resize(static_cast<size_t>(draw(1, static_cast<int64_t>(axes.size()))));
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

/// Runs `count` random collectives as one rank, all ranks with the same seed.
/// What differs from the definition, or ""; checks the bytes sent too.
inline std::string checkCollectives(const sluice_communicator &communicator, uint32_t seed, int count) {
  std::mt19937 random(seed);
  for (int i = 0; i < count; ++i) {
    const RandomCollective each(random, communicator.num_ranks);
    auto group = runtime::groupOf(each.what, communicator.rank, communicator.num_ranks);
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
    std::vector<char> expected = expectedOf(each, operands, group->position);
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
