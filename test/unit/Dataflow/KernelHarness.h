//===- KernelHarness.h - Kernels run against the reference ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_KERNELHARNESS_H
#define SLUICE_TEST_UNIT_DATAFLOW_KERNELHARNESS_H

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::test {

/// How an argument is filled: uniform in [low, high], integers whole numbers.
/// `special` sprinkles NaN, infinities, zeros of both signs and the type's
/// extremes in.
struct Fill {
  double low = -1, high = 1;
  bool special = false;
};

struct Case {
  std::string arguments; ///< "%x: tensor<3xf32>, ..."
  /// The last operator becomes the kernel; those before it (packing, constants)
  /// are computed on the host.
  std::string body;
  std::vector<Fill> fills = {}; ///< One an argument; the last serves those after it.
  double tolerance = 0;         ///< Relative above 1, absolute below; 0: by element type.
  /// Packs the weight of the matmul, or channels_last image convolution, first.
  bool isPacked = false;
  /// CHECKs that it runs in more than one chunk.
  bool isChunked = false;
  /// CHECKs that grids give the same bits.
  bool isAlikeInGrids = false;
  /// Packs the weight for this algorithm of conv, "winograd2" or "winograd4", which has no grids.
  std::string algorithm = {};
  /// Programs within the kernel have the offsets that dataflow-plan-programs chooses.
  bool isPlanned = false;
};

/// Compiles the kernels of all cases into one library, runs each twice (chunks
/// in order on one thread of the test; in reverse) on data that ends, then
/// begins, at an unreadable page, and CHECKs the results of both runs: equal to
/// each other, close to the reference, NaN where it is. `lanes` of f32 are a
/// vector of the emitted code, 0: the host's.
void checkKernels(const std::vector<Case> &cases, int64_t lanes = 0);

/// CHECKs products of grids by tensor cores ("tf32", "bf16", "f16"): the reference's
/// first two arguments are rounded to nearest. Architectures without them are exact.
void checkTensorCores(const std::vector<Case> &cases, const std::string &precision);

/// CHECKs kernels whose operators ask a library, as grids beside one that does what
/// services.h says: with it, in the place of what it adds to where it adds something,
/// and where it is absent. It is asked where `isAsked`, and else not at all.
void checkLibraries(const std::vector<Case> &cases, bool isAsked = true);

/// "tensor<2x3xf32>"
std::string tensorOf(const std::vector<int64_t> &shape, const std::string &element);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_DATAFLOW_KERNELHARNESS_H
