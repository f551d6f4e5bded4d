//===- AskLibraries.cpp - Which kernels are a library's -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/Library/LibraryCall.h"
#include "passes/Bridge/GraphBridge.h"
#include "passes/Passes.h"
#include "sluice/Cost/Profile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

using namespace mlir;

namespace sluice {

#define GEN_PASS_DEF_ASKLIBRARIESPASS
#include "passes/Passes.h.inc"

/// Nanoseconds of kernels that a library might compute, by their model node, operator
/// and result's elements: a node's gradients are its kernels too.
using KernelTimes = std::map<std::tuple<std::string, std::string, int64_t>, int64_t>;

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

/// The times that a profile has of a device; none of kernels that are alike in all that names them.
static KernelTimes measuredKernels(const BridgedGraph &bridge, const Profile &profile, const std::string &device) {
  KernelTimes times;
  std::map<KernelTimes::key_type, int> numKernels;
  for (size_t i = 0; i < bridge.operators.size(); ++i)
    bridge.operators[i]->walk([&](dataflow::LibraryOpInterface op) {
      const KernelTimes::key_type kernel = keyOf(op);
      auto found = profile.operators.find({bridge.graph.operators()[i].signature, device});
      ++numKernels[kernel];
      if (found != profile.operators.end())
        times[kernel] = found->second.medianNs;
    });
  for (const auto &[kernel, count] : numKernels)
    if (count > 1 || std::get<0>(kernel).empty())
      times.erase(kernel);
  return times;
}

/// Marks the operators that GPUs ask a library for first: all that it has a form for
/// where `always`; else those where it was faster, and where not both were measured,
/// those of 2^28 operations and more.
static void chooseLibraries(func::FuncOp function, bool always, const KernelTimes &byLibrary,
                            const KernelTimes &byGrids) {
  function.walk([&](dataflow::LibraryOpInterface op) {
    dataflow::LibraryCall call{};
    if (failed(dataflow::modelOf<dataflow::LibraryCallOpInterface>(op).describeLibraryCall({}, call)))
      return;
    auto library = byLibrary.find(keyOf(op)), grids = byGrids.find(keyOf(op));
    const bool isMeasured = library != byLibrary.end() && grids != byGrids.end();
    if (always ||
        (isMeasured ? library->second < grids->second : cast<dataflow::CostOpInterface>(*op).getFlops() >= kLeastFlops))
      op.setLibrary(kWorkspaceBytes);
  });
}

namespace {
struct AskLibraries : impl::AskLibrariesPassBase<AskLibraries> {
  using AskLibrariesPassBase::AskLibrariesPassBase;
  AskLibraries(const AskLibrariesPassOptions &options, const Profile *measured)
      : AskLibrariesPassBase(options), measured(measured) {}

  void runOnOperation() override {
    if (choice != "on" && choice != "auto") {
      getOperation().emitError() << "'" << choice.getValue() << "' is unknown, option 'choice', use on or auto";
      return signalPassFailure();
    }
    KernelTimes byLibrary, byGrids;
    if (Status done = measure(byLibrary, byGrids); !done) {
      emitError(getOperation(), done.error());
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      chooseLibraries(function, choice == "on", byLibrary, byGrids);
  }

private:
  /// A profile knows fused kernels: the module is fused once with all kernels of the
  /// library and once with none.
  Status measure(KernelTimes &byLibrary, KernelTimes &byGrids) {
    if (choice == "on" || (!measured && profile.empty()))
      return {};
    std::optional<Profile> read;
    if (!measured) {
      SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(profile));
      SLUICE_ASSIGN_OR_RETURN(Profile known, profileFromJson(JsonReader(json, profile + ":")));
      read = std::move(known);
    }
    for (auto [always, times] : {std::pair(true, &byLibrary), std::pair(false, &byGrids)}) {
      OwningOpRef<ModuleOp> trial = getOperation().clone();
      if (always)
        for (auto function : trial->getOps<func::FuncOp>())
          chooseLibraries(function, true, {}, {});
      PassManager passes(&getContext());
      OpPassManager &functions = passes.nest<func::FuncOp>();
      functions.addPass(createAssignLayoutPass({lanes, registers, dynamic, dot}));
      functions.addPass(createFusePass());
      if (failed(passes.run(*trial)))
        return makeError(ErrorCode::Internal, "the program cannot be fused to look up its operators in the profile, "
                                              "this is a bug of Sluice, please report it");
      for (auto function : trial->getOps<func::FuncOp>()) {
        SLUICE_ASSIGN_OR_RETURN(BridgedGraph bridge, buildGraph(function));
        *times = measuredKernels(bridge, measured ? *measured : *read, device);
      }
    }
    return {};
  }

  const Profile *measured = nullptr;
};
} // namespace

std::unique_ptr<Pass> createAskLibrariesPass(const AskLibrariesPassOptions &options, const Profile *profile) {
  return std::make_unique<AskLibraries>(options, profile);
}

} // namespace sluice
