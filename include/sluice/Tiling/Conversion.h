//===- Conversion.h - Converting tensors between tilings --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_CONVERSION_H
#define SLUICE_TILING_CONVERSION_H

#include "sluice/Tiling/TensorProgram.h"

namespace sluice {

/// Slice sends nothing: each device cuts its part out of a tensor of which it has a complete copy. The dialect and
/// services.h call this kind `shard`. The other kinds have the same names there.
enum class CollectiveKind : uint8_t { Slice, AllGather, ReduceScatter, AllReduce, AllToAll, Halo };
/// For example "all-gather".
std::string_view collectiveName(CollectiveKind kind);

/// One collective. Devices whose coordinates differ only along `axes` form a group, and all groups of the mesh execute
/// the collective at the same time.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::Slice;
  std::vector<uint32_t> axes; ///< The outer axis first. AllReduce and Halo may have several axes, the others have one.
  uint32_t dim = 0;           ///< The dimension that is cut, gathered or scattered; for AllToAll the gathered one.
  uint32_t splitDim = 0;      ///< AllToAll: the dimension that is split.
  uint32_t blocks = 1, splitBlocks = 1; ///< Numbers of blocks of `dim` and `splitDim` (AxisTiling::blocks).
  PartialKind reduction = PartialKind::Sum;
  Halo halo = {};
  int64_t ownBytes = 0; ///< Bytes of the largest part that a device has before the collective.
  /// Bytes that all devices together send. In a group of g devices, each device sends (g - 1) / g of the bytes of the
  /// whole tensor in an all-gather or reduce-scatter, and twice as many in an all-reduce. If parts are uneven, there
  /// are two rules: in the dimensions that the collective cuts or joins, each device's real extent counts; in all other
  /// dimensions, the extent of the largest part counts.
  int64_t bytes = 0;
};

/// The collectives that convert a tensor from tiling `from` to tiling `to`. `from` may be partial: each device then
/// holds one operand of a reduction, such as one summand of the tensor. `to` must not be partial. Neither tiling may
/// have an empty part. The collectives are chosen one after the other. Each is the first of the following that is
/// possible and leads closer to `to`: a slice, a reduce-scatter, an all-reduce over the axes along which `to` is
/// replicated, an all-to-all, an all-gather, an all-reduce over the other axes. A dimension that changes its number of
/// blocks is gathered and cut again.
std::vector<CollectiveStep> planConversion(const std::vector<int64_t> &shape, int64_t elementBytes,
                                           const std::vector<AxisTiling> &from, const std::vector<AxisTiling> &to,
                                           const Mesh &mesh);

/// The halo exchanges of an operand, which follow its conversion to the tiling that the rules require. There is one
/// exchange for each rule with a halo, over all axes that use this rule. `slot` is the index of the operand.
std::vector<CollectiveStep> planHalos(const ProgramOperator &op, size_t slot, const ProgramTensor &tensor,
                                      const std::vector<uint32_t> &rules, const Mesh &mesh);

/// The time of a collective in nanoseconds if nothing else uses the links. Collectives run in
/// rings. Over several axes, the inner axes reduce first and gather last, so that the slow outer
/// links carry only the reduced parts (hierarchical all-reduce).
int64_t collectiveNs(const CollectiveStep &step, const Mesh &mesh);

/// SoyBean's ghost areas of a conversion (sections 4.2 and 4.5), in bytes, summed over all devices: the bytes of the
/// part that a device needs after the conversion, minus the bytes that are already in the device's part before the
/// conversion. If `from` is partial, the partial results are first reduced and scattered, and the bytes of this step
/// count too. They are scattered along the dimensions for which the returned number of bytes is smallest.
int64_t ghostBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh);
/// The bytes of a conversion as the example of SoyBean's paper counts them, summed over all
/// devices. The count is 0 if every device already has the part that it needs, and otherwise the bytes
/// of all parts that are needed. If `from` is partial, the partial results are first reduced and
/// scattered, which adds the bytes of all partial results.
int64_t paperBytes(const std::vector<int64_t> &shape, int64_t elementBytes, const std::vector<AxisTiling> &from,
                   const std::vector<AxisTiling> &to, const Mesh &mesh);

} // namespace sluice

#endif // SLUICE_TILING_CONVERSION_H
