//===- Differentiate.cpp - Gradients as results ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "passes/Bridge/FunctionCheck.h"
#include "passes/Gradients.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {
struct Differentiate : sluice::impl::DifferentiatePassBase<Differentiate> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp function) {
    if (Status readable = checkFunction(function); !readable) {
      emitError(function, readable.error());
      return failure();
    }
    Block &block = function.getBody().front();
    Operation *terminator = block.getTerminator();
    if (result >= terminator->getNumOperands())
      return function.emitError("the function has no result ")
             << result.getValue() << ", option 'result' of dataflow-differentiate, give a number below "
             << terminator->getNumOperands();
    Value root = terminator->getOperand(result);
    if (!isa<FloatType>(typeOf(root).getElementType()))
      return function.emitError("result ")
             << result.getValue()
             << " holds no floats, option 'result' of dataflow-differentiate, give a result of floats";
    SmallVector<Value> wrt;
    for (unsigned argument : arguments) {
      if (argument >= block.getNumArguments() || !isa<FloatType>(typeOf(block.getArgument(argument)).getElementType()))
        return function.emitError("the function has no argument ")
               << argument << " that holds floats, give the number of an argument of floats";
      wrt.push_back(block.getArgument(argument));
    }
    if (arguments.empty())
      for (BlockArgument argument : block.getArguments())
        if (isa<FloatType>(typeOf(argument).getElementType()))
          wrt.push_back(argument);

    OpBuilder builder(terminator);
    TensorBuilder build(builder, function.getLoc());
    auto filled = [&](Value like, double value) {
      return build.expand(build.splat(typeOf(like).getElementType(), value), typeOf(like).getShape());
    };
    Value seed = filled(root, 1);
    if (!seed)
      return function.emitError("result ") << result.getValue() << " has no gradient: " << build.message();
    SmallVector<Value> gradients(wrt.size());
    auto keep = [&](size_t i, Value gradient) { gradients[i] = gradient; };
    if (failed(buildGradients(builder, root, seed, wrt, keep)))
      return failure();
    for (auto [value, gradient] : llvm::zip(wrt, gradients)) {
      Value derivative = gradient ? gradient : filled(value, 0);
      if (!derivative)
        return function.emitError("an argument has no gradient: ") << build.message();
      terminator->insertOperands(terminator->getNumOperands(), derivative);
    }
    function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(), terminator->getOperandTypes()));
    return success();
  }
};
} // namespace
