//===- Kernels.h - Emitted contractions beside oneDNN -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Times single kernels on one thread, ours and oneDNN's in turn, so that what
// else runs on the machine disturbs both alike.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_KERNELS_H
#define SLUICE_TOOLS_SLUICEBENCH_KERNELS_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include <string>
#include <variant>
#include <vector>

namespace sluice::bench {

/// A product of bytes, u8 by s8 or, with zero points of columns, u8 by u8; into bytes where it is requantized.
struct IntegerCase {
  int64_t m, n, k;
  emit::IntegerDot dot;
  bool hasZeroPoints = false, isRequantized = false;

  emit::IntegerSpec describe(const emit::VectorTarget &target) const;
};

/// A convolution by F(outputs x outputs, 3 x 3); its operations are counted as those of the direct one.
struct WinogradCase {
  emit::ConvSpec image;
  int64_t outputs;
};

/// A product of f16 or bf16, with sums in f32: by instructions for bf16, whose left-hand side is split beforehand, or
/// widened to f32 as it is read. oneDNN has no f16 on CPUs: it multiplies f32 beside it.
struct HalfCase {
  enum class Form { Tiles, Pairs, Widened };
  int64_t m, n, k;
  Form form;
  bool isF16;

  emit::IntegerSpec describe(const emit::VectorTarget &target) const; ///< But for Form::Widened.
};

/// Products and sums of registers alone, without reading or writing memory: the processor's own limit for f32 or for
/// bytes by IntegerDot::Quads. oneDNN has none.
struct RegisterCase {
  bool ofBytes;
};

struct KernelCase {
  std::string name;
  std::variant<emit::MatmulSpec, emit::ConvSpec, WinogradCase, IntegerCase, HalfCase, RegisterCase> spec;
};

struct KernelTiming {
  double flops = 0;         ///< Multiplications and additions of one run.
  double ourSeconds = 0;    ///< Processor time of one run, median.
  double oneDnnSeconds = 0; ///< Median; 0 where oneDNN was not built in or has no such kernel.
  double ratio = 0;         ///< Median of ours / oneDNN over pairs of runs; 0 like oneDnnSeconds.
  double compileMs = 0;
};

/// The convolutions and the classifier of ResNet-50, its 3x3 convolutions and some of VGG by Winograd's algorithm too,
/// a few depthwise layers of MobileNet, and square products, of bytes, f16 and bf16 too: by every instruction. The
/// limits of registers come first.
std::vector<KernelCase> standardCases();

/// Whether this host has the instructions.
bool canRun(const KernelCase &test, const emit::VectorTarget &target);

/// Runs both `repeats` times, alternating. An empty name of `objectPath` writes no object file.
KernelTiming timeKernel(const KernelCase &test, const emit::VectorTarget &target, int repeats,
                        const std::string &objectPath = "");

/// Whether timings hold oneDNN's side.
bool haveOneDnn();

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_KERNELS_H
