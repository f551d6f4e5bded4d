//===- Indices.cpp - What inputs of indices may hold ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Indices.h"

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/HostElements.h"

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

/// Calls `visit(position, value)` for the elements of a constant of i32 or i64, until it returns false: all of them, or
/// the first `splatCount` of a splat. False where `indices` are another value.
static bool forEachIndex(Value indices, int64_t splatCount, llvm::function_ref<bool(int64_t, int64_t)> visit) {
  ElementsAttr constant = getConstant(indices);
  TensorView view;
  bool isSplat = false;
  if (!constant || !isIndexType(constant.getElementType()) || !getConstantBytes(constant, view, isSplat))
    return false;
  int64_t total = elementCount(view.type);
  if (isSplat)
    total = std::min(total, splatCount);
  view.type = RankedTensorType::get({isSplat ? 1 : total}, view.type.getElementType());
  const SmallVector<int64_t, 1> list{total};
  ElementReader reader(view, list);
  for (int64_t start = 0; start < total; start += kRun) {
    int64_t values[kRun], length = std::min(kRun, total - start);
    reader.read(start, length, values);
    for (int64_t i = 0; i < length; ++i)
      if (!visit(start + i, values[i]))
        return true;
  }
  return true;
}

std::optional<std::pair<int64_t, int64_t>> indexBounds(Value indices) {
  std::pair<int64_t, int64_t> bounds(INT64_MAX, INT64_MIN);
  const bool isKnown = forEachIndex(indices, /*splatCount=*/1, [&](int64_t, int64_t value) {
    bounds = {std::min(bounds.first, value), std::max(bounds.second, value)};
    return true;
  });
  return isKnown && bounds.first <= bounds.second ? std::optional(bounds) : std::nullopt;
}

std::optional<WrongIndex> findWrongIndex(Value indices, ArrayRef<AllowedIndices> allowed) {
  const auto count = static_cast<int64_t>(allowed.size());
  std::optional<WrongIndex> wrong;
  // A splat's element meets each of the ranges once.
  forEachIndex(indices, count, [&](int64_t position, int64_t value) {
    if (const AllowedIndices &range = allowed[position % count]; !range.contains(value))
      wrong = WrongIndex{position, value, range};
    return !wrong;
  });
  return wrong;
}

static func::FuncOp functionOf(BlockArgument argument) {
  return argument ? dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
}

std::optional<AllowedIndices> allowedIndices(BlockArgument argument) {
  func::FuncOp function = functionOf(argument);
  auto range = function ? function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(),
                                                                       DataflowDialect::RangeAttrHelper::getNameStr())
                        : DenseI64ArrayAttr();
  return range ? std::optional(AllowedIndices{range[0], range[1], range[2]}) : std::nullopt;
}

void limitIndices(Value indices, const AllowedIndices &allowed) {
  auto [low, high, other] = allowed;
  BlockArgument argument = argumentBehind(indices);
  func::FuncOp function = functionOf(argument);
  if (!function || low > high)
    return;
  int64_t extra = other.value_or(low);
  // Several readers: what all of them allow.
  if (std::optional<AllowedIndices> before = allowedIndices(argument)) {
    const AllowedIndices one{low, high, extra}, &earlier = *before;
    int64_t bothLow = std::max(low, earlier.low), bothHigh = std::min(high, earlier.high);
    int64_t bothAlso = one.contains(*earlier.other) ? *earlier.other : earlier.contains(extra) ? extra : bothLow;
    low = bothLow, high = bothHigh, extra = bothAlso;
  }
  function.setArgAttr(argument.getArgNumber(), DataflowDialect::RangeAttrHelper::getNameStr(),
                      DenseI64ArrayAttr::get(function.getContext(), {low, high, extra}));
}

} // namespace sluice::dataflow
