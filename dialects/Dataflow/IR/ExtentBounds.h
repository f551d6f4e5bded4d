//===- ExtentBounds.h - What holds of an extent at all points ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_EXTENTBOUNDS_H
#define SLUICE_DATAFLOW_IR_EXTENTBOUNDS_H

#include "dialects/Dataflow/IR/Extents.h"

namespace sluice::dataflow {

/// Whether two extents have the same value at all sample points.
bool isSameExtent(const Extent &a, const Extent &c);
/// Whether an extent is 0 at some point, as far as the bounds of its symbols show.
bool mayBeZero(const Extent &extent);
/// Whether an extent is a multiple of `number` at all points. For an expression, only powers of two are recognized, by
/// its symbols' bounds and steps. So the extent may be a multiple even if the result is false.
bool isMultipleOf(const Extent &extent, int64_t number);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_EXTENTBOUNDS_H
