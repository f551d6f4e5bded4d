//===- GpuLibraries.cpp - Which kernels are a library's -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GpuLibraries.h"

#include "sluice/Compiler/Compilation.h"

using namespace mlir;

namespace sluice {

namespace {
/// On the fastest of the presets' GPUs some microseconds, about what the call takes
/// on the host. Below it, the grid that applies the epilogue too has less to read.
constexpr int64_t kLeastFlops = int64_t(1) << 28;
/// cuBLAS' own default, but on Hopper, where it would take 32 MiB.
constexpr int64_t kWorkspaceBytes = int64_t(4) << 20;

/// Layouts change shapes, but not how many elements there are.
KernelTimes::key_type keyOf(Operation *op) {
  return {dataflow::nodeName(op->getLoc()), op->getName().getStringRef().str(),
          dataflow::elementCount(op->getResult(0).getType())};
}
} // namespace

const std::vector<std::string> &gpuLibraryChoices() {
  static const std::vector<std::string> choices = {"auto", "on", "off"};
  return choices;
}

KernelTimes measuredKernels(const BridgedGraph &bridge, const Profile &profile, const Device &device) {
  KernelTimes times;
  std::map<KernelTimes::key_type, int> numKernels;
  for (size_t i = 0; i < bridge.operators.size(); ++i)
    bridge.operators[i]->walk([&](dataflow::LibraryOpInterface op) {
      const KernelTimes::key_type kernel = keyOf(op);
      auto found = profile.operators.find({bridge.graph.operators()[i].signature, deviceKey(device)});
      ++numKernels[kernel];
      if (found != profile.operators.end())
        times[kernel] = found->second.medianNs;
    });
  for (const auto &[kernel, count] : numKernels)
    if (count > 1 || std::get<0>(kernel).empty())
      times.erase(kernel);
  return times;
}

void chooseLibraries(func::FuncOp function, bool always, const KernelTimes &byLibrary, const KernelTimes &byGrids) {
  function.walk([&](dataflow::LibraryOpInterface op) {
    if (!op.getLibraryForm({}))
      return;
    auto library = byLibrary.find(keyOf(op)), grids = byGrids.find(keyOf(op));
    const bool isMeasured = library != byLibrary.end() && grids != byGrids.end();
    if (always ||
        (isMeasured ? library->second < grids->second : cast<dataflow::CostOpInterface>(*op).getFlops() >= kLeastFlops))
      op.setLibrary(kWorkspaceBytes);
  });
}

} // namespace sluice
