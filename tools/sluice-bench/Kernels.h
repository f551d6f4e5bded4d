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
#include <string>
#include <variant>
#include <vector>

namespace sluice::bench {

struct KernelCase {
  std::string name;
  std::variant<emit::MatmulSpec, emit::ConvSpec> spec;
};

struct KernelTiming {
  double flops = 0;         ///< Multiplications and additions of one run.
  double ourSeconds = 0;    ///< Processor time of one run, median.
  double oneDnnSeconds = 0; ///< Median; 0 where oneDNN was not built in.
  double ratio = 0;         ///< Median of ours / oneDNN over pairs of runs.
  double compileMs = 0;
};

/// The convolutions and the classifier of ResNet-50, a few depthwise layers of MobileNet, and square products.
std::vector<KernelCase> standardCases();

/// Runs both `repeats` times, alternating. An empty name of `objectPath` writes no object file.
KernelTiming timeKernel(const KernelCase &test, const emit::VectorTarget &target, int repeats,
                        const std::string &objectPath = "");

/// Whether timings hold oneDNN's side.
bool haveOneDnn();

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_KERNELS_H
