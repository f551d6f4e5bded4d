//===- Passes.cpp - Targets, device code and objects ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Codegen/Passes.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "sluice/Codegen/GridLowering.h"
#include "sluice/Codegen/ObjectEmission.h"
#include "sluice/Support/Json.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace sluice {

#define GEN_PASS_DEF_ATTACHTARGETPASS
#define GEN_PASS_DEF_LOWERGRIDSPASS
#define GEN_PASS_DEF_EMITOBJECTSPASS
#include "lib/Codegen/Passes.h.inc"

exec::TargetAttr targetToAttribute(MLIRContext *context, const TargetSpec &target) {
  const std::vector<int64_t> architectures(target.architectures.begin(), target.architectures.end());
  return exec::TargetAttr::get(context, target.name, target.triple, target.cpu, target.features, target.tune,
                               target.required, target.vectorBits, target.numVectorRegisters,
                               DenseI64ArrayAttr::get(context, architectures), target.emulatesGrids, target.l2Bytes);
}

TargetSpec targetFromAttribute(exec::TargetAttr attribute) {
  TargetSpec target;
  target.name = attribute.getName().str();
  target.triple = attribute.getTriple().str();
  target.cpu = attribute.getCpu().str();
  target.features = attribute.getFeatures().str();
  target.tune = attribute.getTune().str();
  target.required = attribute.getRequired().str();
  target.vectorBits = attribute.getVectorBits();
  target.numVectorRegisters = attribute.getRegisters();
  target.l2Bytes = attribute.getL2Bytes();
  const ArrayRef<int64_t> architectures = attribute.getArchitectures().asArrayRef();
  target.architectures.assign(architectures.begin(), architectures.end());
  target.emulatesGrids = attribute.getEmulated();
  return target;
}

std::string targetName(const TargetSpec &target) {
  std::string name = target.name;
  for (unsigned architecture : target.architectures)
    name += concat(",cuda:sm_", architecture);
  return target.emulatesGrids ? name + ",cuda:emulated" : name;
}

std::string objectFileName(StringRef prefix, size_t index) { return concat(prefix.str(), ".", index, ".o"); }

namespace {

/// The module's target; none, and an error, where the module has no such attribute.
std::optional<TargetSpec> targetOf(ModuleOp module) {
  if (auto attribute = exec::ExecDialect::TargetAttrHelper(module->getContext()).getAttr(module))
    return targetFromAttribute(attribute);
  module.emitError() << "the module has no attribute '" << exec::ExecDialect::TargetAttrHelper::getNameStr()
                     << "', run the pass exec-attach-target first";
  return std::nullopt;
}

struct AttachTarget : impl::AttachTargetPassBase<AttachTarget> {
  using AttachTargetPassBase::AttachTargetPassBase;

  void runOnOperation() override {
    Expected<TargetSpec> resolved = resolveTarget(target.getValue());
    if (!resolved) {
      emitError(getOperation(), resolved.error());
      return signalPassFailure();
    }
    exec::ExecDialect::TargetAttrHelper(&getContext())
        .setAttr(getOperation(), targetToAttribute(&getContext(), *resolved));
  }
};

struct LowerGrids : impl::LowerGridsPassBase<LowerGrids> {
  void runOnOperation() override {
    if (getOperation().getOps<gpu::GPUModuleOp>().empty())
      return;
    std::optional<TargetSpec> target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    if (auto codes = lowerGrids(getOperation(), {target->architectures, target->emulatesGrids}); !codes) {
      emitError(getOperation(), codes.error());
      signalPassFailure();
    }
  }
};

struct EmitObjects : impl::EmitObjectsPassBase<EmitObjects> {
  using EmitObjectsPassBase::EmitObjectsPassBase;

  void runOnOperation() override {
    std::optional<TargetSpec> target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    if (Status written = write(*target); !written) {
      emitError(getOperation(), written.error());
      signalPassFailure();
    }
  }

private:
  Status write(const TargetSpec &target) {
    EmissionParams params;
    params.threads = threads;
    constexpr unsigned kMostLevel = 3;
    if (level > kMostLevel)
      return makeError(ErrorCode::InvalidInput, "optimization level ", level.getValue(),
                       " does not exist, pass emit-objects, give a level from 0 to ", kMostLevel);
    params.optLevel = static_cast<int>(level);
    SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> objects, emitObjects(getOperation(), target, params));
    for (size_t i = 0; i < objects.size(); ++i)
      SLUICE_RETURN_IF_ERROR(writeFileAtomically(objectFileName(prefix, i), objects[i]));
    for (size_t i = objects.size(); llvm::sys::fs::exists(objectFileName(prefix, i)); ++i)
      llvm::sys::fs::remove(objectFileName(prefix, i));
    exec::ExecDialect::ObjectsAttrHelper(&getContext())
        .setAttr(getOperation(), Builder(&getContext()).getI64IntegerAttr(static_cast<int64_t>(objects.size())));
    return {};
  }
};

} // namespace
} // namespace sluice
