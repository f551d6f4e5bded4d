//===- Compare.h - Comparison with reference tensors ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_COMPARE_H
#define SLUICE_TENSORIO_COMPARE_H

#include "sluice/TensorIO/HostTensor.h"

namespace sluice {

/// Limits of a comparison. The ratio is max |actual - reference| / max |reference| over the
/// elements that are finite in both tensors.
struct Tolerance {
  double maxRatio = 0;
  double minCosine = -1; ///< Least cosine of actual and reference as vectors; -1 means no limit.
};

/// The default tolerances: 5e-4 for float32 and float64, 1e-2 for float16 and bfloat16, 8e-2
/// and a cosine of at least 0.999 for floating-point tensors of quantized models, and 0 for
/// integers and booleans.
Tolerance defaultTolerance(ElementType type, bool quantizedModel = false);

struct TensorComparison {
  bool matches = true;
  double maxAbsDiff = 0;
  double maxAbsReference = 0;
  /// If the reference is all zeros, this is maxAbsDiff.
  double ratio = 0;
  /// The cosine of the elements that are finite in both tensors. 1 if both tensors are all zeros, 0 if only one is.
  double cosine = 1;
  /// Number of elements that are NaN or infinite in one tensor and differ in the other tensor.
  /// If there is one, the tensors do not match. NaN equals NaN, and an infinity equals the same
  /// infinity.
  int64_t nonFiniteMismatches = 0;
  /// Index of the first non-finite mismatch, or else of the greatest difference; -1 if there is
  /// no difference.
  int64_t worstIndex = -1;
  /// For strings: the number of elements that differ. `worstIndex` is the first of them.
  int64_t differingStrings = 0;
  double actualAtWorst = 0, referenceAtWorst = 0;
};

/// Fails if types or shapes differ. O(elements).
Expected<TensorComparison> compareTensors(const HostTensor &actual, const HostTensor &reference,
                                          const Tolerance &tolerance);

/// One line of text: "ratio 3.1e-05 (max diff 2e-4 at 17: 1.5 for 1.4998), cosine 0.99999".
std::string describe(const TensorComparison &comparison);

} // namespace sluice

#endif // SLUICE_TENSORIO_COMPARE_H
