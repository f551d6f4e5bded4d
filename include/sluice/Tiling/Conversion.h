//===- Conversion.h - From one tiling to another ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_CONVERSION_H
#define SLUICE_TILING_CONVERSION_H

#include "sluice/Tiling/TensorProgram.h"

namespace sluice {

enum class CollectiveKind : uint8_t { Slice, AllGather, ReduceScatter, AllReduce, AllToAll, Halo };
std::string_view collectiveName(CollectiveKind kind); ///< "all-gather"

/// One collective among the devices along `axes`; all such groups of the mesh do it.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::Slice;
  std::vector<uint32_t> axes; ///< Outer first; one but for AllReduce and Halo.
  uint32_t dim = 0;           ///< Cut, gathered, scattered along; AllToAll: gathered.
  uint32_t splitDim = 0;      ///< AllToAll: split instead.
  PartialKind reduction = PartialKind::Sum;
  Halo halo = {};
  int64_t ownBytes = 0; ///< What a device holds before.
  int64_t bytes = 0;    ///< Sent, by all devices together: g devices of a group send (g - 1) / g of what an
                        ///< all-gather ends with or a reduce-scatter begins with, twice that for an all-reduce.
};

/// The collectives that bring a tensor held as `from` (which may be partial) to `to`
/// (which is not): what cuts comes first, what gathers last. Both divide the shape.
std::vector<CollectiveStep> planConversion(const std::vector<int64_t> &shape, int64_t elementBytes,
                                           const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to,
                                           const Mesh &mesh);

/// The exchanges of halos that operand `slot`, held as its rules want it, needs
/// beside: one a rule that has them, among all the axes that use it.
std::vector<CollectiveStep> planHalos(const ProgramOperator &op, size_t slot, const ProgramTensor &tensor,
                                      const std::vector<uint32_t> &rules, const Mesh &mesh);

/// Nanoseconds by links alone: rings, and over several axes the inner ones first and
/// last, so that outer links carry what is left (hierarchical all-reduce).
int64_t collectiveNs(const CollectiveStep &step, const Mesh &mesh);

/// SoyBean's counts of a conversion, in bytes over all devices (sections 4.2, 4.5):
/// needed minus held, by where each device's part lies;
int64_t ghostBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh);
/// and as its example counts: 0 where every device holds its part already, else all
/// parts, held or not; partial results to parts all that is partial.
int64_t paperBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh);

} // namespace sluice

#endif // SLUICE_TILING_CONVERSION_H
