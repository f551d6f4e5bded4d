//===- IndexRange.h - Random indices within a range -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_INDEXRANGE_H
#define SLUICE_TENSORIO_INDEXRANGE_H

#include "sluice/TensorIO/HostTensor.h"

namespace sluice {

/// Replaces the elements outside [low, high] of an int32 or int64 tensor by elements inside:
/// low + value modulo the range's length. Elements inside stay.
void bringIntoRange(HostTensor &tensor, int64_t low, int64_t high);

} // namespace sluice

#endif // SLUICE_TENSORIO_INDEXRANGE_H
