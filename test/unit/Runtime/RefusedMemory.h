//===- RefusedMemory.h - Allocations that fail ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_RUNTIME_REFUSEDMEMORY_H
#define SLUICE_TEST_UNIT_RUNTIME_REFUSEDMEMORY_H

namespace sluice::test {

/// Allocations of this thread fail while it is set.
extern thread_local bool refusesMemory;

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_RUNTIME_REFUSEDMEMORY_H
