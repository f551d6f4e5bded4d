//===- Library.cpp - Operators that libraries may compute -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"

using namespace mlir;
using namespace sluice::dataflow;

LogicalResult sluice::dataflow::detail::verifyLibrary(Operation *op) {
  auto bytes = static_cast<int64_t>(cast<LibraryOpInterface>(op).getLibrary().value_or(0));
  return bytes < 0 ? op->emitOpError("the scratch memory of a library call must have at least 0 bytes, got ") << bytes
                   : success();
}

static int64_t scratchOf(std::optional<uint64_t> library) { return static_cast<int64_t>(library.value_or(0)); }
int64_t MatmulOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvTransposeOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvWeightGradientOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }

std::optional<LibraryAddition> sluice::dataflow::libraryAddition(Operation *kernel) {
  auto group = dyn_cast<FusedOp>(kernel);
  auto anchor = group ? dyn_cast_or_null<LibraryOpInterface>(group.getAnchor()) : LibraryOpInterface();
  if (!anchor || !anchor.getLibrary())
    return std::nullopt;
  for (Value sum = anchor->getResult(0); sum.hasOneUse();) {
    auto addition = dyn_cast<BinaryOp>(*sum.user_begin());
    if (!addition || addition.getKind() != BinaryKind::add || addition.getType() != sum.getType())
      break;
    Value other = addition.getLhs() == sum ? addition.getRhs() : addition.getLhs();
    auto argument = dyn_cast<BlockArgument>(other);
    auto isAlone = [&](Value operand) {
      return llvm::count_if(group.getOperands(),
                            [&](Value each) { return viewedValue(each) == viewedValue(operand); }) == 1;
    };
    if (argument && argument.hasOneUse() && argument.getType() == sum.getType() &&
        isAlone(group.getOperand(argument.getArgNumber())))
      return LibraryAddition{addition, argument.getArgNumber(), sum};
    // Of f16 another order may leave its range between.
    if (cast<RankedTensorType>(sum.getType()).getElementType().isF16())
      break;
    sum = addition.getResult();
  }
  return std::nullopt;
}
