//===- Compare.cpp - Is this the tensor that was expected -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/TensorIO/Compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sluice {

Tolerance defaultTolerance(ElementType type, bool quantizedModel) {
  if (!isFloatingPoint(type))
    return {0, -1};
  if (quantizedModel)
    return {8e-2, 0.999};
  bool half = type == ElementType::Float16 || type == ElementType::BFloat16;
  return {half ? 1e-2 : 5e-4, -1};
}

namespace {

/// |a - b| of 64-bit integers, whose doubles could be equal where they are not.
double integerDiff(const HostTensor &a, const HostTensor &b, int64_t index) {
  uint64_t x, y;
  std::memcpy(&x, a.bytes.data() + index * 8, 8);
  std::memcpy(&y, b.bytes.data() + index * 8, 8);
  bool less = a.type == ElementType::Int64 ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
  return static_cast<double>(less ? y - x : x - y);
}

TensorComparison compareStrings(const HostTensor &actual, const HostTensor &reference) {
  TensorComparison result;
  for (int64_t i = 0; i < reference.numElements(); ++i)
    if (actual.data<StringElement>()[i].view() != reference.data<StringElement>()[i].view() &&
        result.differingStrings++ == 0)
      result.worstIndex = i;
  result.matches = result.differingStrings == 0;
  return result;
}

} // namespace

Expected<TensorComparison> compareTensors(const HostTensor &actual, const HostTensor &reference,
                                          const Tolerance &tolerance) {
  if (actual.type != reference.type || actual.shape != reference.shape)
    return makeError(ErrorCode::InvalidInput, "tensor '", actual.name, "' is ", elementTypeName(actual.type), " ",
                     formatShape(actual.shape), " and its reference is ", elementTypeName(reference.type), " ",
                     formatShape(reference.shape), ", give the reference of this model");
  if (actual.type == ElementType::String)
    return compareStrings(actual, reference);
  bool wide = actual.type == ElementType::Int64 || actual.type == ElementType::UInt64;
  TensorComparison result;
  double maxAbsActual = 0, worst = 0;
  int64_t n = reference.numElements();
  for (int64_t i = 0; i < n; ++i) {
    double a = actual.valueAt(i), r = reference.valueAt(i), diff;
    if (std::isfinite(a) && std::isfinite(r)) {
      diff = wide ? integerDiff(actual, reference, i) : std::fabs(a - r);
      result.maxAbsDiff = std::max(result.maxAbsDiff, diff);
      result.maxAbsReference = std::max(result.maxAbsReference, std::fabs(r));
      maxAbsActual = std::max(maxAbsActual, std::fabs(a));
    } else {
      bool same = (std::isnan(a) && std::isnan(r)) || a == r;
      result.nonFiniteMismatches += !same;
      diff = same ? 0 : HUGE_VAL;
    }
    if (diff > worst) {
      worst = diff;
      result.worstIndex = i, result.actualAtWorst = a, result.referenceAtWorst = r;
    }
  }
  result.ratio = result.maxAbsReference > 0 ? result.maxAbsDiff / result.maxAbsReference : result.maxAbsDiff;

  if (maxAbsActual > 0 && result.maxAbsReference > 0) {
    // Scaled, so that squares neither overflow nor vanish.
    double dot = 0, aa = 0, rr = 0;
    for (int64_t i = 0; i < n; ++i) {
      double a = actual.valueAt(i), r = reference.valueAt(i);
      if (!std::isfinite(a) || !std::isfinite(r))
        continue;
      a /= maxAbsActual, r /= result.maxAbsReference;
      dot += a * r, aa += a * a, rr += r * r;
    }
    result.cosine = dot / std::sqrt(aa * rr);
  } else if (maxAbsActual > 0 || result.maxAbsReference > 0) {
    result.cosine = 0;
  }
  result.matches =
      result.nonFiniteMismatches == 0 && result.ratio <= tolerance.maxRatio && result.cosine >= tolerance.minCosine;
  return result;
}

std::string describe(const TensorComparison &comparison) {
  std::ostringstream out;
  if (comparison.differingStrings > 0) {
    out << comparison.differingStrings << " strings differ, the first at " << comparison.worstIndex;
    return out.str();
  }
  out << "ratio " << comparison.ratio;
  if (comparison.worstIndex >= 0)
    out << " (max diff " << comparison.maxAbsDiff << " at " << comparison.worstIndex << ": " << comparison.actualAtWorst
        << " for " << comparison.referenceAtWorst << ")";
  out << ", cosine " << comparison.cosine;
  if (comparison.nonFiniteMismatches > 0)
    out << ", " << comparison.nonFiniteMismatches << " NaN or infinite where the other is not";
  return out.str();
}

} // namespace sluice
