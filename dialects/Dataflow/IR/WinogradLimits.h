//===- WinogradLimits.h - Blocks of transformed filters ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Limits on which the dialect's verifiers and the emitter agree. Plain C++.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_WINOGRADLIMITS_H
#define SLUICE_DATAFLOW_IR_WINOGRADLIMITS_H

#include <cstdint>

namespace sluice::emit {

/// The most input and output channels of a block of transformed filters. They keep the scratch of the smallest work
/// item within kWinogradScratchBytes.
inline constexpr int64_t kWinogradMostDepth = 256, kWinogradMostPanel = 2048;

} // namespace sluice::emit

#endif // SLUICE_DATAFLOW_IR_WINOGRADLIMITS_H
