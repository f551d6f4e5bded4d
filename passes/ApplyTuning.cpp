//===- ApplyTuning.cpp - What was measured, on operators ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Tuning.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "passes/Bridge/GraphBridge.h"
#include "passes/Passes.h"
#include "sluice/Cost/Tuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <set>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {

#define GEN_PASS_DEF_APPLYTUNINGPASS
#include "passes/Passes.h.inc"

using TuningHelper = DataflowDialect::TuningAttrHelper;

/// A kernel's text is what its code depends on; constant operands are packed when the model is linked.
static std::string keyOf(Operation *op) {
  std::string text;
  SmallVector<unsigned> slots;
  for (Value operand : op->getOperands())
    slots.push_back(llvm::find(op->getOperands(), operand) - op->operand_begin());
  TuningHelper helper(op->getContext());
  const TuningAttr tuning = helper.getAttr(op);
  if (tuning)
    helper.removeAttr(op);
  text = kernelKey(op, slots);
  if (tuning)
    helper.setAttr(op, tuning);
  for (Value operand : op->getOperands())
    text += isConstantExpression(operand) ? " constant" : " computed";
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);
}

static std::string shapeText(Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto print = [&](Value value) {
    auto type = typeOf(value);
    llvm::interleave(type.getShape(), out, "x");
    out << "x" << type.getElementType();
  };
  llvm::interleave(op->getOperands(), out, print, " * ");
  out << " -> ";
  print(op->getResult(0));
  return text;
}

static bool isTunable(Operation *op) {
  auto tunable = dyn_cast<TunableOpInterface>(op);
  return tunable && tunable.isTunable();
}

std::vector<TunableKernel> tunableKernels(func::FuncOp function, const emit::VectorTarget &target) {
  std::vector<TunableKernel> kernels;
  std::set<std::string> known;
  function.walk([&](Operation *op) {
    if (!isTunable(op))
      return;
    std::string key = keyOf(op);
    if (!known.insert(key).second)
      return;
    TunableKernel &kernel = kernels.emplace_back();
    kernel.key = std::move(key);
    kernel.kind = op->getName().stripDialect().str();
    kernel.shape = shapeText(op);
    modelOf<TuningSpaceOpInterface>(op).describeTuningSpace(target, kernel);
  });
  return kernels;
}

namespace {
struct ApplyTuning : impl::ApplyTuningPassBase<ApplyTuning> {
  using ApplyTuningPassBase::ApplyTuningPassBase;
  ApplyTuning(const ApplyTuningPassOptions &options, const Tuning *measured)
      : ApplyTuningPassBase(options), measured(measured) {}

  void runOnOperation() override {
    std::optional<Tuning> read;
    if (!measured) {
      Expected<Tuning> parsed = readTuning(file);
      Status status = parsed ? check(*parsed) : Status(propagate(parsed));
      if (!status) {
        emitError(getOperation(), status.error());
        return signalPassFailure();
      }
      read = std::move(*parsed);
    }
    const Tuning &tuning = measured ? *measured : *read;
    const WalkResult walked = getOperation().walk([&](Operation *op) -> WalkResult {
      if (!isTunable(op))
        return WalkResult::advance();
      std::string key = keyOf(op);
      auto found = tuning.kernels.find(key);
      if (found == tuning.kernels.end())
        return WalkResult::advance();
      const KernelTuning &chosen = found->second.tuning;
      if (chosen.algorithm != sluice::TunedAlgorithm::Any && !cast<TunableOpInterface>(op).allowsTunedAlgorithm())
        return op->emitError("the tuning file gives kernel '")
               << key << "' an algorithm, and the kernel is not a convolution, remove 'algorithm' from this kernel";
      TuningHelper(op->getContext()).setAttr(op, TuningAttr::get(op->getContext(), key, chosen));
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  Status check(const Tuning &tuning) const {
    const std::string &byName = device.empty() ? tuning.device : device.getValue();
    const std::string &from = origin.empty() ? tuning.origin : origin.getValue();
    return checkTuning(tuning, from, byName, file);
  }

  const Tuning *measured = nullptr;
};
} // namespace

std::unique_ptr<Pass> createApplyTuningPass(const ApplyTuningPassOptions &options, const Tuning *tuning) {
  return std::make_unique<ApplyTuning>(options, tuning);
}

} // namespace sluice
