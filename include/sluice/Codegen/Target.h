//===- Target.h - Targets of code generation -*- C++ -*-===//
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

/// The resolved target of code generation: a CPU and GPUs. It no longer depends on the host, so
/// equal specifications give equal code.
struct TargetSpec {
  std::string name;   ///< The requested name: "native", "x86-64-v3", "aarch64+dotprod".
  std::string triple; ///< "x86_64-unknown-linux-gnu"
  /// Arguments for LLVM: a micro-architecture level, additional features ("+avx2,+fma"), and the
  /// processor whose timings guide the scheduler.
  std::string cpu, features, tune;
  /// The requirements on the host that runs the code, for the manifest: a level or a list of
  /// features (sluice_model.cpu_features of the runtime's abi.h).
  std::string required;
  int64_t vectorBits = 128;
  int64_t numVectorRegisters = 16;
  /// Size of a core's second-level cache, which determines the sizes of blocks in kernels. For "native" it is the
  /// host's, and for other targets 1 MiB.
  int64_t l2Bytes = 1 << 20;
  /// How kernels multiply bytes. The names are those of dataflow-assign-layout:
  ///  plain  in 32-bit arithmetic
  ///  pairs  instructions multiply numbers that are widened to 16 bits
  ///  quads  an instruction multiplies bytes and adds four products (VNNI, AArch64's dot products)
  ///  tiles  an instruction multiplies tiles of bytes (AMX)
  std::string byteProducts = "pairs";
  /// 0, 4 or 8. Concerns matrix products with a block-quantized weight. If the elements of the weight have at most this
  /// number of bits, the product rounds the rows of its other operand to bytes and multiplies bytes. With 0 this never
  /// happens.
  int64_t roundedBits = 0;
  /// The instructions that multiply bf16 numbers and add the products in f32: "none", "pairs" (AVX512-BF16) or "tiles"
  /// (AMX).
  std::string halfProducts = "none";

  /// Architectures of GPUs for which code is generated (80: sm_80), ascending.
  std::vector<unsigned> architectures;
  /// Emulated accelerators run grids, as GPUs do, instead of CPU kernels. If `architectures` is not empty, the artifact
  /// contains the host code of the grids in addition to PTX.
  bool emulatesGrids = false;

  int64_t vectorLanes(int64_t elementBits) const { return vectorBits / elementBits; }
};

/// Parses a list such as "cpu:native,cuda:sm_80,cuda:sm_90". At most one entry is a CPU, with an
/// optional prefix "cpu:": "native" (the default), "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
/// "aarch64", "riscv64" or "wasm32". Features may follow "aarch64", "riscv64" and "wasm32": appended
/// ("aarch64+dotprod+i8mm"), or as separate entries ("aarch64,+dotprod,+i8mm"). All other entries are GPUs: "sm_80" and
/// so on with an optional prefix "cuda:", or "cuda:emulated". "native" uses those features of the host that generated
/// code can use and the runtime can check. Fails on an unknown name or feature and lists the known ones.
Expected<TargetSpec> resolveTarget(std::string_view name);

/// Fails, and says what to do, if the target's CPU has another architecture than this host.
Status checkRunsOnHost(const TargetSpec &target);

} // namespace sluice

#endif // SLUICE_CODEGEN_TARGET_H
