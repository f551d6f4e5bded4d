//===- Target.h - What code is generated for -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_TARGET_H
#define SLUICE_CODEGEN_TARGET_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What to generate code for, a CPU and GPUs, resolved: nothing in it depends on the host any
/// more, so equal specs give equal code.
struct TargetSpec {
  std::string name;   ///< "native", "x86-64-v3": as asked for.
  std::string triple; ///< "x86_64-unknown-linux-gnu"
  /// What LLVM is given: a micro-architecture level, features on top of it
  /// ("+avx2,+fma"), and the processor whose timings guide the scheduler.
  std::string cpu, features, tune;
  /// What the manifest demands of the host that runs the code: a level, or the
  /// features, as the Runtime's abi.h says.
  std::string required;
  int64_t vectorBits = 128;
  int64_t numVectorRegisters = 16;
  /// Of a core's second-level cache, by which kernels choose their blocks: the host's for native, 1 MiB for the levels.
  int64_t l2Bytes = 1 << 20;
  bool hasFma = false;
  bool hasF16Conversion = false; ///< f16 <-> f32 in one instruction.
  /// The instructions that multiply bytes, as dataflow-assign-layout names them: "pairs" of products of 16 bits,
  /// "quads" of bytes (VNNI), or "tiles" of them (AMX).
  std::string byteProducts = "pairs";
  /// The instructions that multiply bf16 numbers with sums in f32, likewise: "none", "pairs" (AVX512-BF16), or "tiles"
  /// of them (AMX).
  std::string halfProducts = "none";

  /// GPUs to generate code for too (80: sm_80), ascending.
  std::vector<unsigned> architectures;
  /// Emulated accelerators run the GPUs' grids, not CPU kernels. Beside
  /// architectures: the host's form of the grids is there too.
  bool emulatesGrids = false;

  int64_t vectorLanes(int64_t elementBits) const { return vectorBits / elementBits; }
};

/// A list, as in "cpu:native,cuda:sm_80,cuda:sm_90". CPUs: "native", "x86-64",
/// "x86-64-v2", "x86-64-v3" or "x86-64-v4", with or without "cpu:" in front; one
/// at most, absent: native. GPUs: "sm_80"..., or "emulated", with or without
/// "cuda:" in front. Native takes those of the host's features that generated
/// code uses and the Runtime can check. Fails listing the names.
Expected<TargetSpec> resolveTarget(std::string_view name);

} // namespace sluice

#endif // SLUICE_CODEGEN_TARGET_H
