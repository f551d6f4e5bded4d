//===- KernelsCommand.cpp - sluice-bench kernels --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Kernels.h"
#include "Timing.h"
#include "sluice/Support/Json.h"
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

struct KernelsOptions : CommonOptions {
  std::string filter, vectors, objectPath;
};

struct NamedTarget {
  const char *name;
  emit::VectorTarget target;
};
constexpr NamedTarget kTargets[] = {{"avx512", {16, 32}}, {"avx2", {8, 16}}, {"sse2", {4, 16}}};

const char *hostVectors() {
  return __builtin_cpu_supports("avx512f") ? "avx512" : __builtin_cpu_supports("avx2") ? "avx2" : "sse2";
}

const emit::VectorTarget &targetOf(const std::string &name) {
  for (const NamedTarget &entry : kTargets)
    if (entry.name == name)
      return entry.target;
  return std::end(kTargets)[-1].target;
}

double gigaflops(double flops, double seconds) { return flops / seconds * 1e-9; }

void printRow(const KernelCase &test, const KernelTiming &timing) {
  std::printf("%-30s %9.1f %9.1f ", test.name.c_str(), timing.ourSeconds * 1e6,
              gigaflops(timing.flops, timing.ourSeconds));
  if (haveOneDnn() && timing.oneDnnSeconds == 0)
    std::printf("%9s %7s ", "-", "-");
  else if (haveOneDnn())
    std::printf("%9.1f %7.2f ", gigaflops(timing.flops, timing.oneDnnSeconds), timing.ratio);
  std::printf("%9.1f\n", timing.compileMs);
  std::fflush(stdout);
}

Json toJson(const KernelCase &test, const KernelTiming &timing) {
  Json json{{"name", test.name},
            {"flops", timing.flops},
            {"seconds", timing.ourSeconds},
            {"gigaflopsPerSec", gigaflops(timing.flops, timing.ourSeconds)}};
  if (timing.oneDnnSeconds != 0) {
    json["oneDnnSeconds"] = timing.oneDnnSeconds;
    json["oneDnnGigaflopsPerSec"] = gigaflops(timing.flops, timing.oneDnnSeconds);
    json["ratio"] = timing.ratio;
  }
  json["compileMs"] = timing.compileMs;
  return json;
}

Status runKernels(const KernelsOptions &options) {
  std::vector<KernelCase> cases = standardCases();
  std::erase_if(cases, [&](const KernelCase &test) { return test.name.find(options.filter) == std::string::npos; });
  std::erase_if(cases, [&](const KernelCase &test) { return !canRun(test, targetOf(options.vectors)); });
  if (cases.empty())
    return makeError(ErrorCode::NotFound, "no kernel has a name with '", options.filter,
                     "', option '--filter', leave this option out to see all names");
  if (!haveOneDnn())
    std::cerr << "note: built without oneDNN, nothing to compare with\n";
  if (!options.json()) {
    std::printf("%-30s %9s %9s ", "kernel", "us", "GFLOP/s");
    if (haveOneDnn())
      std::printf("%9s %7s ", "oneDNN", "ratio");
    std::printf("%9s\n", "build ms");
  }
  Json rows = Json::array();
  std::vector<double> ratios;
  for (const KernelCase &test : cases) {
    KernelTiming timing = timeKernel(test, targetOf(options.vectors), options.repeats, options.objectPath);
    if (timing.ourSeconds == 0)
      return makeError(ErrorCode::Internal, "kernel '", test.name,
                       "' does not compile, this is a bug of Sluice, please report it");
    if (timing.oneDnnSeconds != 0)
      ratios.push_back(timing.ratio);
    if (options.json())
      rows.push_back(toJson(test, timing));
    else
      printRow(test, timing);
  }
  if (options.json()) {
    Json json{{"benchmark", "kernels"}, {"vectors", options.vectors}, {"oneDnn", haveOneDnn()}};
    if (!ratios.empty())
      json["medianRatio"] = median(ratios);
    json["kernels"] = std::move(rows);
    std::cout << jsonText(json, 2) << '\n';
  } else if (!ratios.empty()) {
    std::printf("ratio: our time / oneDNN's, below 1 is faster; median %.2f\n", median(ratios));
  }
  return {};
}

} // namespace

void addKernelsCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<KernelsOptions>();
  CLI::App *command =
      driver::addCommand(app, "kernels", "Time matrix products and convolutions of Sluice and of oneDNN");
  driver::addOption(*command, "--filter", options->filter, "only kernels whose names contain this text")
      ->type_name("TEXT");
  options->addTo(*command);
  options->vectors = hostVectors();
  driver::addOption(*command, "--vectors", options->vectors,
                    "emit code for avx512, avx2 or sse2, which the host must support; by default the widest of them")
      ->check(driver::oneOf({"avx512", "avx2", "sse2"}))
      ->group("Code generation");
  driver::addOption(*command, "--dump-object", options->objectPath, "write the object file of the last kernel")
      ->type_name("FILE")
      ->group("Code generation");
  command->callback([options, &action] { action = [options] { return runKernels(*options); }; });
}

} // namespace sluice::bench
