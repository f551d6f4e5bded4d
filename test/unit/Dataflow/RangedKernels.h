//===- RangedKernels.h - Kernels of symbols, run at points ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_DATAFLOW_RANGEDKERNELS_H
#define SLUICE_TEST_UNIT_DATAFLOW_RANGEDKERNELS_H

#include "KernelHarness.h"

namespace sluice::test {

/// A kernel whose types have symbols. Extents in braces are expressions of them: "tensor<{s0}x8xf32>".
struct RangedCase {
  std::string symbols; ///< "\"n\" = 1 to 37, \"m\" = 0 to 9": s0 and s1.
  /// As in Case. `extents(s0 + 1, 4)` stands for an operator that has these values.
  std::string arguments, body;
  std::vector<Fill> fills = {};
  double tolerance = 0;
  bool isPacked = false;
  std::string algorithm = ""; ///< Of a convolution whose weight is packed, as ConvAlgorithm's names; none: direct.
};

/// Emits each kernel once, and a second time to CHECK that the code is the same; compiles all into one library; and
/// runs each at the bounds of its symbols, beside widths of vectors and tiles, and at random points: chunks in order
/// and in reverse on one thread, and on two threads. Buffers have exactly the bytes of the point. CHECKs that results
/// are equal to each other and close to the reference of the static program of the point. The same with grids, at the
/// bounds and at some of the other points, but for packed cases of an algorithm that is for CPUs alone, and where
/// `lanes` are given.
void checkRanged(const std::vector<RangedCase> &cases, int64_t lanes = 0);

/// The error that the kernel is refused with; empty where it is emitted.
std::string refusalOf(const RangedCase &made, bool inGrids = false);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_DATAFLOW_RANGEDKERNELS_H
