//===- ContractionHarness.h - Checks kernels against plain loops -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_EMIT_CONTRACTIONHARNESS_H
#define SLUICE_TEST_UNIT_EMIT_CONTRACTIONHARNESS_H

#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include <string>

namespace sluice::test {

inline const emit::VectorTarget avx512{16, 32, 1 << 20};
inline const emit::VectorTarget avx2{8, 16, 1 << 18};
inline const emit::VectorTarget sse2{4, 16, 1 << 18};

std::string describe(const emit::ConvSpec &spec);

/// Compile the kernel, run it in two chunks, and REQUIRE that every output was written exactly once with the value the
/// reference gives. Inputs end at an unreadable page, so that a read past their end ends the test.
void checkConv(const emit::ConvSpec &spec, const emit::VectorTarget &target);
/// The same with the taps of a kernel's row as channels.
void checkShiftAdd(const emit::ConvSpec &spec, const emit::VectorTarget &target);
/// The same by transformed tiles; differences within winogradErrorBound of the outputs' expected magnitude. Returns
/// their root mean square in units of it.
double checkWinograd(const emit::WinogradSpec &spec, const emit::VectorTarget &target);
template <typename T>
void checkMatmul(const emit::MatmulSpec &spec, const emit::VectorTarget &target);
/// Inputs all alike, whose sums round one way only: each output within the bound of sums cut by `sumLength` steps,
/// relative to the exact value.
void checkLongMatmul(const emit::MatmulSpec &spec, const emit::VectorTarget &target, int64_t sumLength);
void checkLongConv(const emit::ConvSpec &spec, const emit::VectorTarget &target, int64_t sumLength);
/// B in f16, A through a load hook that doubles what it reads.
void checkMatmulF16Weights(const emit::MatmulSpec &spec, const emit::VectorTarget &target);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EMIT_CONTRACTIONHARNESS_H
