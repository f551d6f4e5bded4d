//===- Attention.h - What kernels of attention keep -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_ATTENTION_H
#define SLUICE_DATAFLOW_EMIT_ATTENTION_H

#include <cstdint>

namespace sluice::dataflow {

/// The most scores that a work item of a CPU's kernel keeps on its stack, for whole rows: 256 KiB of f32. Longer rows
/// use a slower form.
inline constexpr int64_t kMostAttentionScores = 1 << 16;

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_ATTENTION_H
