//===- ApplyTuning.cpp - What was measured, on operators ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Tuning.h"

#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
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

/// Whether the emitters of matrix products and images have a kernel of the operator whose tiles can be chosen.
static bool isTunable(Operation *op) {
  if (!isa<ConvOp, MatmulOp>(op) || cast<LibraryOpInterface>(op).getLibrary())
    return false;
  const bool isEmpty = llvm::any_of(llvm::concat<Value>(op->getOperands(), op->getResults()), [](Value value) {
    auto type = typeOf(value);
    return !type.hasStaticShape() || elementCount(type) == 0;
  });
  const Type element = elementOf(op->getResult(0));
  const bool isHalf = element.isF16() || element.isBF16();
  if (auto matmul = dyn_cast<MatmulOp>(op))
    return !isEmpty && !matmul.getPackedN() && (element.isF32() || element.isF64() || isHalf);
  auto conv = cast<ConvOp>(op);
  const size_t rank = dataflow::shapeOf(conv.getInput()).size();
  return !isEmpty && !conv.isLaidOut() && (rank == 3 || rank == 4) && (element.isF32() || isHalf);
}

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

static void describe(const emit::MatmulSpec &spec, const emit::VectorTarget &target, TunableKernel &kernel) {
  const emit::MatmulBlocking blocking = emit::chooseBlocking(spec, target);
  kernel.rows = spec.m;
  kernel.columns = spec.n;
  kernel.depth = spec.k;
  kernel.hasDepthBlock = true;
  kernel.chosen.rows = blocking.tile.rows;
  kernel.chosen.vectors = blocking.tile.vectors;
  kernel.chosen.rowBlock = blocking.rowBlock;
  kernel.chosen.depthBlock = blocking.depthBlock;
}

static TunableKernel describe(Operation *op, const emit::VectorTarget &target) {
  TunableKernel kernel;
  kernel.kind = op->getName().stripDialect().str();
  kernel.shape = shapeText(op);
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    emit::MatmulSpec spec = describeMatmul(matmul);
    spec.tuning = {};
    spec.packedB = isConstantExpression(matmul.getRhs());
    describe(spec, target, kernel);
    return kernel;
  }
  auto conv = cast<ConvOp>(op);
  if (dataflow::shapeOf(conv.getInput()).size() != 4) {
    // dataflow-assign-layout makes a signal an image, whose tiles lie along it.
    kernel.rows = dataflow::shapeOf(conv.getResult())[2];
    kernel.columns = conv.getOutputChannels() / static_cast<int64_t>(conv.getGroups());
    kernel.hasTile = conv.getGroups() == 1;
    const emit::RegisterTile tile = emit::chooseTile(kernel.rows, kernel.columns, 32, target);
    kernel.chosen.rows = tile.rows;
    kernel.chosen.vectors = tile.vectors;
    return kernel;
  }
  emit::ConvSpec spec = describeConv(conv);
  spec.tuning = {};
  if (emit::isPointwise(spec)) {
    describe(emit::pointwiseMatmul(spec), target, kernel);
    return kernel;
  }
  const emit::RegisterTile tile = emit::chooseTile(spec.outW, spec.groupOutC(), 32, target);
  kernel.rows = spec.outW;
  kernel.columns = spec.groupOutC();
  kernel.depth = spec.groupInC() * spec.kernelH * spec.kernelW;
  kernel.hasTile = !emit::isDepthwise(spec) && emit::convGroupsTogether(spec, target) == 1;
  kernel.allowsWinograd =
      emit::allowsWinograd(spec) && elementOf(conv.getResult()).isF32() && isConstantExpression(conv.getWeight());
  kernel.allowsShiftAdd = emit::prefersShiftAdd(spec, target);
  kernel.chosen.rows = tile.rows;
  kernel.chosen.vectors = tile.vectors;
  kernel.chosen.rowBlock = emit::convRowBlock(spec) * spec.outW;
  return kernel;
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
    kernels.push_back(describe(op, target));
    kernels.back().key = std::move(key);
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
    getOperation().walk([&](Operation *op) {
      if (!isTunable(op))
        return;
      std::string key = keyOf(op);
      auto found = tuning.kernels.find(key);
      if (found != tuning.kernels.end())
        TuningHelper(op->getContext()).setAttr(op, TuningAttr::get(op->getContext(), key, found->second.tuning));
    });
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
