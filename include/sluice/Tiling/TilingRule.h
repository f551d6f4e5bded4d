//===- TilingRule.h - How an operator runs on parts -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Devices form a mesh. Along each of its axes a tensor is held in one way, and an
// operator runs by one rule: its aligned tilings, under which it needs no
// communication (SoyBean, section 4.2; generalized from matmul to any operator).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TILINGRULE_H
#define SLUICE_TILING_TILINGRULE_H

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// How partial results become the result.
enum class PartialKind : uint8_t { Sum, Max, Min };

/// How the devices along one axis of a mesh hold a tensor.
struct AxisTiling {
  enum class Kind : uint8_t {
    Replicated, ///< Each all of it.
    Split,      ///< Each an equal, contiguous part of dimension `dim`, in the devices' order.
    Partial,    ///< Each a tensor of the full shape, to be reduced. Only of an operator's results.
  };
  Kind kind = Kind::Replicated;
  uint32_t dim = 0;
  PartialKind reduction = PartialKind::Sum;

  static AxisTiling replicated() { return {}; }
  static AxisTiling split(uint32_t dim) { return {Kind::Split, dim, PartialKind::Sum}; }
  static AxisTiling partial(PartialKind reduction) { return {Kind::Partial, 0, reduction}; }
  bool isReplicated() const { return kind == Kind::Replicated; }
  bool isSplit() const { return kind == Kind::Split; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool operator==(const AxisTiling &) const = default;
};

/// What a part of an operand needs of its neighbours along the split dimension.
struct Halo {
  enum class Fill : uint8_t { Zero, Lowest };
  int64_t low = 0, high = 0; ///< Elements; at most a neighbour's part.
  Fill fill = Fill::Zero;    ///< What lies beyond the tensor's own ends. Lowest: -infinity, or the type's least.
  bool empty() const { return low == 0 && high == 0; }
  bool operator==(const Halo &) const = default;
};

/// One way to run an operator on the parts that the devices along an axis hold.
/// Several axes may use one rule: their devices then count as those of one axis,
/// the outer one first. Different rules of an operator combine freely: no two of
/// them split one dimension of a tensor.
struct TilingRule {
  std::string name; ///< Unique among its operator's rules.
  std::vector<AxisTiling> operands, results;
  std::vector<Halo> halos; ///< Per operand, or none.
  /// The devices that use it are a divisor of this, and at most `mostParts`. An
  /// extent that does not divide is no strategy: parts are never padded.
  int64_t divisor = 1;
  int64_t mostParts = std::numeric_limits<int64_t>::max();
  /// Each device does its share of the work; else each does all of it.
  bool dividesWork = true;

  bool allows(int64_t parts) const { return parts >= 1 && divisor % parts == 0 && parts <= mostParts; }
  Halo halo(size_t operand) const { return operand < halos.size() ? halos[operand] : Halo(); }
};

/// Every operator's first rule: each device does everything.
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
