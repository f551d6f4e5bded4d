//===- ApplyPlan.cpp - A plan's decisions on the IR -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/FirstError.h"
#include "passes/Bridge/GraphBridge.h"
#include "passes/Bridge/PlanAttributes.h"
#include "passes/Bridge/TilingAttributes.h"
#include "passes/DataflowToExec/Passes.h"
#include "sluice/Support/Units.h"

#include <nlohmann/json.hpp>

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_APPLYPLANPASS
#include "passes/DataflowToExec/Passes.h.inc"
} // namespace sluice

using namespace sluice;

/// The splits of a plan in a program, found by the names of operators and rules.
static Expected<std::vector<OperatorSplit>> findSplits(const TensorProgram &program,
                                                       const std::vector<NamedSplit> &splits) {
  std::vector<OperatorSplit> found;
  for (const NamedSplit &split : splits) {
    auto op = llvm::find_if(program.operators, [&](const ProgramOperator &each) { return each.name == split.op; });
    if (op == program.operators.end())
      return makeError(ErrorCode::InvalidInput, "the plan splits operator '", split.op,
                       "', which the model does not have, ", "give the model and options that the plan was made for");
    SLUICE_ASSIGN_OR_RETURN(uint32_t rule,
                            findRule(*op, split.rule, dataflow::DataflowDialect::SplitAttrHelper::getNameStr()));
    found.push_back({OperatorId(static_cast<size_t>(op - program.operators.begin())), rule, split.parts});
  }
  SLUICE_RETURN_IF_ERROR(checkSplits(program, found));
  return found;
}

namespace {
struct ApplyPlan : sluice::impl::ApplyPlanPassBase<ApplyPlan> {
  using ApplyPlanPassBase::ApplyPlanPassBase;
  ApplyPlan(const ApplyPlanPassOptions &options, const Decisions *decisions)
      : ApplyPlanPassBase(options), decisions(decisions) {}

  void runOnOperation() override {
    if (Status applied = apply(); !applied) {
      emitError(getOperation(), applied.error());
      signalPassFailure();
    }
  }

private:
  Status apply() {
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (functions.size() != 1 || functions.front().isExternal())
      return makeError(ErrorCode::InvalidInput, "the pass needs exactly one function with a body, and the module has ",
                       functions.size(), " functions, run the pass before dataflow-to-exec");
    func::FuncOp function = functions.front();
    if (phase == "tiling")
      return applyTiling(function);
    if (phase == "partition")
      return applySplits(function);
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> bounds, parseBounds());
    if (!bounds.empty() && phase != "schedule")
      return makeError(ErrorCode::InvalidInput, "phase '", phase.getValue(),
                       "' does not support buckets, option 'bucket', use buckets with phase=schedule");
    if (phase != "place" && phase != "schedule")
      return makeError(ErrorCode::InvalidInput, "'", phase.getValue(),
                       "' is not a phase with decisions, option 'phase', use tiling, partition, place or schedule");
    auto attribute = exec::ExecDialect::MachineAttrHelper(&getContext()).getAttr(getOperation());
    if (!attribute)
      return makeError(ErrorCode::InvalidInput, "the module has no attribute '",
                       exec::ExecDialect::MachineAttrHelper::getNameStr().str(),
                       "', run the pass exec-attach-machine first");
    const Machine machine = machineFromAttribute(attribute);
    SLUICE_ASSIGN_OR_RETURN(BridgedGraph bridge, buildGraph(function));
    if (!bounds.empty()) {
      SLUICE_ASSIGN_OR_RETURN(bridge.graph, graphAt(function, bridge, bounds));
    }
    std::optional<Plan> read;
    if (!decisions) {
      SLUICE_ASSIGN_OR_RETURN(Plan plan, readPlanOn(bridge.graph, machine, planFile));
      read = std::move(plan);
    }
    const Plan &plan = decisions ? decisions->plan : *read;
    if (phase == "place")
      applyPlacement(bridge, machine, plan);
    else if (!bounds.empty())
      addBucket(function, bridge, machine, plan, bounds);
    else
      applySchedule(function, bridge, machine, plan);
    return {};
  }

  Expected<std::vector<int64_t>> parseBounds() const {
    std::vector<int64_t> bounds;
    SmallVector<StringRef> parts;
    if (!bucket.empty())
      StringRef(bucket.getValue()).split(parts, 'x');
    for (StringRef part : parts) {
      Expected<int64_t> bound = parseInteger(part);
      if (!bound)
        return makeError(
            ErrorCode::InvalidInput, "'", part.str(),
            "' is not a number, option 'bucket', give an upper bound for each symbol, separated by x, such as 16x512");
      bounds.push_back(*bound);
    }
    return bounds;
  }

  Status applyTiling(func::FuncOp function) {
    SLUICE_ASSIGN_OR_RETURN(BridgedProgram bridged, buildTensorProgram(function));
    if (decisions) {
      annotateTiling(function, bridged, decisions->tiling);
      return {};
    }
    Expected<Json> json = readJsonFile(planFile);
    SLUICE_ASSIGN_OR_RETURN(MeshTiling tiling,
                            json ? partitionFromJson(bridged.program, JsonReader(*json, planFile + ":"))
                                 : Expected<MeshTiling>(propagate(json)));
    annotateTiling(function, bridged, tiling);
    return {};
  }

  Status applySplits(func::FuncOp function) {
    std::vector<NamedSplit> read;
    if (!decisions) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<NamedSplit> splits, readPlanSplits(planFile));
      read = std::move(splits);
    }
    const std::vector<NamedSplit> &splits = decisions ? decisions->splits : read;
    if (splits.empty())
      return {};
    SLUICE_ASSIGN_OR_RETURN(BridgedProgram bridged, buildTensorProgram(function));
    SLUICE_ASSIGN_OR_RETURN(std::vector<OperatorSplit> known, findSplits(bridged.program, splits));
    annotateSplits(bridged, known);
    return {};
  }

  void applyPlacement(const BridgedGraph &bridge, const Machine &machine, const Plan &plan) {
    auto target = exec::ExecDialect::TargetAttrHelper(&getContext()).getAttr(getOperation());
    const bool emulatesGrids = target && target.getEmulated();
    for (size_t i = 0; i < bridge.operators.size(); ++i) {
      const Device &device = machine.device(plan.placement[i]);
      const bool runsGrids = device.kind == DeviceKind::Cuda || (device.kind == DeviceKind::Emulated && emulatesGrids);
      dataflow::DataflowDialect::DeviceAttrHelper(&getContext())
          .setAttr(bridge.operators[i],
                   dataflow::DeviceAttr::get(&getContext(), device.name,
                                             runsGrids ? dataflow::KernelForm::Grids : dataflow::KernelForm::Chunks));
    }
  }

  void applySchedule(func::FuncOp function, const BridgedGraph &bridge, const Machine &machine, const Plan &plan) {
    Builder builder(&getContext());
    int64_t position = 0;
    std::vector<char> launched(bridge.operators.size(), 0);
    for (const Command &command : plan.commands)
      if (command.kind == CommandKind::Launch && !std::exchange(launched[command.op.index()], 1))
        dataflow::DataflowDialect::OrderAttrHelper(&getContext())
            .setAttr(bridge.operators[command.op.index()], builder.getI64IntegerAttr(position++));
    exec::ExecDialect::PlanAttrHelper(&getContext())
        .setAttr(function, planToAttribute(&getContext(), bridge.graph, machine, plan));
  }

  void addBucket(func::FuncOp function, const BridgedGraph &bridge, const Machine &machine, const Plan &plan,
                 const std::vector<int64_t> &bounds) {
    Builder builder(&getContext());
    exec::ExecDialect::BucketsAttrHelper helper(&getContext());
    SmallVector<Attribute> buckets;
    if (ArrayAttr before = helper.getAttr(function))
      llvm::append_range(buckets, before);
    buckets.push_back(exec::BucketAttr::get(&getContext(), builder.getDenseI64ArrayAttr(bounds),
                                            planToAttribute(&getContext(), bridge.graph, machine, plan)));
    helper.setAttr(function, builder.getArrayAttr(buckets));
  }

  const Decisions *decisions = nullptr;
};
} // namespace

std::unique_ptr<Pass> sluice::createApplyPlanPass(const ApplyPlanPassOptions &options, const Decisions *decisions) {
  return std::make_unique<ApplyPlan>(options, decisions);
}
