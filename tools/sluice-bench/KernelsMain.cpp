//===- KernelsMain.cpp - Prints kernels' speed beside oneDNN's ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include <CLI/CLI.hpp>
#include <cstdio>

using namespace sluice;

int main(int argc, char **argv) {
  CLI::App app("Times emitted kernels on one thread, and oneDNN's where it was found at build time");
  std::string filter, objectPath;
  int repeats = 21;
  emit::VectorTarget target;
  app.add_option("filter", filter, "Only cases whose name contains this");
  app.add_option("--repeat", repeats, "Measurements a kernel; the median counts")->check(CLI::Range(1, 10000));
  app.add_option("--lanes", target.lanesF32, "Lanes of a vector register: 16, 8 or 4")
      ->check(CLI::IsMember({4, 8, 16}));
  app.add_option("--registers", target.registers, "Vector registers: 32 or 16")->check(CLI::IsMember({16, 32}));
  app.add_option("--object", objectPath, "Write the last kernel's object file here");
  CLI11_PARSE(app, argc, argv);

  std::printf("%-30s %9s %9s %9s %7s %9s\n", "kernel", "us", "GFLOP/s", "oneDNN", "ratio", "build ms");
  for (const bench::KernelCase &test : bench::standardCases()) {
    if (test.name.find(filter) == std::string::npos)
      continue;
    bench::KernelTiming timing = bench::timeKernel(test, target, repeats, objectPath);
    if (timing.ourSeconds == 0) {
      std::fprintf(stderr, "error: kernel '%s' does not compile\n", test.name.c_str());
      return 1;
    }
    std::printf("%-30s %9.1f %9.1f ", test.name.c_str(), timing.ourSeconds * 1e6,
                timing.flops / timing.ourSeconds * 1e-9);
    if (bench::haveOneDnn())
      std::printf("%9.1f %7.2f ", timing.flops / timing.oneDnnSeconds * 1e-9, timing.ratio);
    else
      std::printf("%9s %7s ", "-", "-");
    std::printf("%9.1f\n", timing.compileMs);
    std::fflush(stdout);
  }
  return 0;
}
