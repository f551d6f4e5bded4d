//===- Compare.h - Is this the tensor that was expected ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_COMPARE_H
#define SLUICE_TENSORIO_COMPARE_H

#include "sluice/TensorIO/HostTensor.h"

namespace sluice {

/// What passes. The ratio is max |actual - reference| / max |reference|, over
/// the tensor's finite elements.
struct Tolerance {
  double maxRatio = 0;
  double minCosine = -1; ///< Of actual and reference as vectors; -1 asks nothing.
};

/// The house's: float32 and float64 5e-4, float16 and bfloat16 1e-2, a quantized
/// model's floating-point tensors 8e-2 and cosine at least 0.999, integers and
/// booleans 0.
Tolerance defaultTolerance(ElementType type, bool quantizedModel = false);

struct TensorComparison {
  bool matches = true;
  double maxAbsDiff = 0;
  double maxAbsReference = 0;
  /// maxAbsDiff itself where the reference is all zeros.
  double ratio = 0;
  double cosine = 1; ///< 1 of two zero vectors, 0 of one.
  /// Elements of which one is NaN or infinite and the other is not the same.
  /// Any is a mismatch; the same NaN or infinity on both sides matches.
  int64_t nonFiniteMismatches = 0;
  /// Where the difference is greatest, a non-finite mismatch before others;
  /// -1 where there is no difference.
  int64_t worstIndex = -1;
  /// Of strings, which match or do not. The first is at `worstIndex`.
  int64_t differingStrings = 0;
  double actualAtWorst = 0, referenceAtWorst = 0;
};

/// Fails where types or shapes differ. O(elements).
Expected<TensorComparison> compareTensors(const HostTensor &actual, const HostTensor &reference,
                                          const Tolerance &tolerance);

/// One line for people: "ratio 3.1e-05 (max diff 2e-4 at 17: 1.5 for 1.4998), cosine 0.99999".
std::string describe(const TensorComparison &comparison);

} // namespace sluice

#endif // SLUICE_TENSORIO_COMPARE_H
