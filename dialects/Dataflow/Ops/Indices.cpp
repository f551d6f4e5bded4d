//===- Indices.cpp - What inputs of indices may hold ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Indices.h"

#include "dialects/Dataflow/Dataflow.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sluice::dataflow {

static bool isIndexType(Type type) { return type.isSignlessInteger(32) || type.isSignlessInteger(64); }

/// The argument whose values `indices` has, each at least once; null where it is none.
static BlockArgument argumentBehind(Value indices) {
  while (Operation *op = indices.getDefiningOp()) {
    bool widens = isa<CastOp>(op) && isIndexType(getElementTypeOrSelf(op->getOperand(0).getType())) &&
                  getElementTypeOrSelf(op->getResult(0).getType()).isSignlessInteger(64);
    if (!widens && !isa<ReshapeOp, ExpandOp, TransposeOp, CopyOp>(op))
      return {};
    indices = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(indices);
  return isIndexType(getElementTypeOrSelf(argument.getType())) ? argument : BlockArgument();
}

void limitIndices(Value indices, int64_t low, int64_t high, std::optional<int64_t> other) {
  BlockArgument argument = argumentBehind(indices);
  auto function = argument ? dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || low > high)
    return;
  int64_t extra = other.value_or(low);
  // Several readers: what all of them allow.
  if (auto before = function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), kRangeAttribute)) {
    auto allows = [](int64_t value, int64_t least, int64_t greatest, int64_t also) {
      return (value >= least && value <= greatest) || value == also;
    };
    int64_t least = before[0], greatest = before[1], also = before[2];
    int64_t bothLow = std::max(low, least), bothHigh = std::min(high, greatest);
    int64_t bothAlso = allows(also, low, high, extra) ? also : allows(extra, least, greatest, also) ? extra : bothLow;
    low = bothLow, high = bothHigh, extra = bothAlso;
  }
  function.setArgAttr(argument.getArgNumber(), kRangeAttribute,
                      DenseI64ArrayAttr::get(function.getContext(), {low, high, extra}));
}

} // namespace sluice::dataflow
