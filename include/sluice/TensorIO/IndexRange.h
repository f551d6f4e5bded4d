//===- IndexRange.h - Random indices within a range -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TENSORIO_INDEXRANGE_H
#define SLUICE_TENSORIO_INDEXRANGE_H

#include "sluice/TensorIO/HostTensor.h"

namespace sluice {

/// Replaces each element of an int32 or int64 tensor that is outside [low, high] by
/// low + element mod (high - low + 1), where the element counts as an unsigned number of 64 bits.
/// Elements inside the range do not change.
void bringIntoRange(HostTensor &tensor, int64_t low, int64_t high);

} // namespace sluice

#endif // SLUICE_TENSORIO_INDEXRANGE_H
