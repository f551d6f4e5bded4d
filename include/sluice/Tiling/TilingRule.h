//===- TilingRule.h - How an operator runs on parts -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Devices form a mesh. Along each axis of the mesh, a tensor has one tiling, and an operator runs by one rule. A rule
// has a tiling for each operand and result. With these tilings, devices do not communicate while the operator computes
// (the aligned tilings of SoyBean, section 4.2). Before the operator, devices may receive elements of neighbouring
// parts (halos); after it, partial results are reduced.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TILINGRULE_H
#define SLUICE_TILING_TILINGRULE_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// The reduction that combines partial results.
enum class PartialKind : uint8_t { Sum, Max, Min };

/// The first element of part `part` if an extent is divided into `parts` parts. The extents of parts differ by at most
/// 1. For example, an extent of 10 in 3 parts has parts of 3, 3 and 4. Parts nest: if an extent is divided into k * n
/// parts, then the parts k * p to k * p + k - 1 together are part p of a division into n parts.
constexpr int64_t partBegin(int64_t extent, int64_t parts, int64_t part) {
  return extent / parts * part + extent % parts * part / parts;
}
/// The extent of the largest part. Every device has memory for a part of this extent.
constexpr int64_t largestPart(int64_t extent, int64_t parts) { return extent / parts + (extent % parts != 0 ? 1 : 0); }

/// The most blocks of a dimension that is split in strides.
inline constexpr uint32_t kMostBlocks = 31;

/// The tiling of a tensor along one axis of a mesh.
struct AxisTiling {
  enum class Kind : uint8_t {
    Replicated, ///< Each device has the whole tensor.
    Split,      ///< Each device has a part along dimension `dim`, in the order of devices: see partBegin and `blocks`.
    Partial,    ///< Each device has a tensor of the full shape, a term of the result: a reduction must combine them.
  };
  Kind kind = Kind::Replicated;
  uint32_t dim = 0;
  PartialKind reduction = PartialKind::Sum;
  /// For Split: the dimension consists of this many equal blocks. A part has a share of each block, and these shares
  /// follow each other. With one block a part is contiguous. With more blocks it is strided, and parts are equal. For
  /// example, if the columns 0 to 5 are 3 blocks, two devices have the columns 0, 2, 4 and 1, 3, 5.
  uint32_t blocks = 1;

  static AxisTiling replicated() { return {}; }
  static AxisTiling split(uint32_t dim, uint32_t blocks = 1) { return {Kind::Split, dim, PartialKind::Sum, blocks}; }
  static AxisTiling partial(PartialKind reduction) { return {Kind::Partial, 0, reduction, 1}; }
  bool isReplicated() const { return kind == Kind::Replicated; }
  bool isSplit() const { return kind == Kind::Split; }
  bool isPartial() const { return kind == Kind::Partial; }
  /// Whether the tiling splits dimension `which`, in any number of blocks.
  bool splits(uint32_t which) const { return isSplit() && dim == which; }
  bool operator==(const AxisTiling &) const = default;
};

/// The elements that a device needs from the neighbouring parts of an operand, along the split dimension.
struct Halo {
  enum class Fill : uint8_t { Zero, Lowest };
  int64_t low = 0, high = 0; ///< Number of elements from the previous and the next part; at most a whole part.
  /// The value beyond the ends of the tensor. Lowest means -infinity, or the least value of the type.
  Fill fill = Fill::Zero;
  bool empty() const { return low == 0 && high == 0; }
  bool operator==(const Halo &) const = default;
};

/// One way to run an operator on the parts of the devices along an axis. Several axes may use the
/// same rule: their devices then count as the devices of one axis, with the outer axis first.
/// Different axes may use different rules, unless these split the same dimension of a tensor in
/// different numbers of blocks (rulesCombine).
struct TilingRule {
  std::string name; ///< Unique among its operator's rules.
  std::vector<AxisTiling> operands, results;
  std::vector<Halo> halos; ///< The halo of each operand; empty if no operand has a halo.
  /// The rule allows n devices if n <= mostParts and one of two conditions holds: n divides `divisor`; or `uneven` is
  /// set and n <= divisor.
  int64_t divisor = 1;
  int64_t mostParts = std::numeric_limits<int64_t>::max();
  /// Whether each device does its share of the work; if false, each device does all of it.
  bool dividesWork = true;
  /// The extents of parts may differ by 1. All extents that the rule splits are equal to `divisor`. A smaller part is
  /// followed by one spare element, and the operator computes with the spare element as with the others. Collectives
  /// write a copy of the part's last element there. The spare element of an operand affects at most the spare element
  /// of a result. If a result is partial, the spare element of each operand without a halo is set to the neutral
  /// element of the reduction before the operator runs.
  bool uneven = false;
  /// Element i of a split dimension affects only elements i of the other split dimensions. If the operator sums over a
  /// split dimension, the order of the terms does not matter. A part may therefore have any elements, not only
  /// contiguous ones. All extents that the rule splits are equal.
  bool pointwise = false;

  bool dividesEvenly(int64_t parts) const { return parts >= 1 && divisor % parts == 0 && parts <= mostParts; }
  bool allows(int64_t parts) const {
    return dividesEvenly(parts) || (uneven && parts >= 1 && parts <= divisor && parts <= mostParts);
  }
  Halo halo(size_t operand) const { return operand < halos.size() ? halos[operand] : Halo(); }
  bool isStrided() const {
    auto inBlocks = [](AxisTiling tiling) { return tiling.blocks > 1; };
    return std::any_of(operands.begin(), operands.end(), inBlocks) ||
           std::any_of(results.begin(), results.end(), inBlocks);
  }
};

/// The first rule of every operator: each device computes the whole operator.
inline TilingRule replicatedRule(size_t numOperands, size_t numResults) {
  TilingRule rule;
  rule.name = "replicated";
  rule.operands.resize(numOperands);
  rule.results.resize(numResults);
  rule.divisor = 0; // Any number divides it.
  rule.dividesWork = false;
  return rule;
}

} // namespace sluice

#endif // SLUICE_TILING_TILINGRULE_H
