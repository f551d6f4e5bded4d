//===- AttachMachine.cpp - The machine of a module ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/Bridge/PlanAttributes.h"
#include "passes/DataflowToExec/Passes.h"
#include "sluice/Machine/RankMachine.h"

#include <optional>

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_ATTACHMACHINEPASS
#include "passes/DataflowToExec/Passes.h.inc"
} // namespace sluice

using namespace sluice;

namespace {
struct AttachMachine : sluice::impl::AttachMachinePassBase<AttachMachine> {
  using AttachMachinePassBase::AttachMachinePassBase;
  explicit AttachMachine(const Machine &loaded) : loaded(loaded) {}

  void runOnOperation() override {
    Expected<Machine> described = loaded ? Expected<Machine>(*loaded) : load();
    if (described)
      if (Status status = described->checkCompilable(); !status)
        described = propagate(status);
    if (!described) {
      emitError(getOperation(), described.error());
      return signalPassFailure();
    }
    exec::ExecDialect::MachineAttrHelper(&getContext())
        .setAttr(getOperation(), machineToAttribute(&getContext(), *described));
  }

private:
  Expected<Machine> load() {
    if (ranks < 1)
      return makeError(ErrorCode::InvalidInput, "the number of ranks is ", ranks.getValue(),
                       ", option 'ranks', give at least 1");
    SLUICE_ASSIGN_OR_RETURN(Machine described, loadMachine(machine));
    return ranks > 1 ? machineOfRank(described, ranks) : described;
  }

  std::optional<Machine> loaded;
};
} // namespace

std::unique_ptr<Pass> sluice::createAttachMachinePass(const Machine &machine) {
  return std::make_unique<AttachMachine>(machine);
}
