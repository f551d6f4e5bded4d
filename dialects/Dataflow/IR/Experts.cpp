//===- Experts.cpp - Operators that the data of a step chooses ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Experts.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace sluice::dataflow {

/// The mask of which a condition is one element; null of other conditions.
static std::pair<Value, int64_t> elementOfMask(Value condition) {
  auto slice = viewedValue(condition).getDefiningOp<SliceOp>();
  if (!slice || elementCount(slice.getResult().getType()) != 1)
    return {};
  const auto mask = cast<RankedTensorType>(slice.getInput().getType());
  if (mask.getRank() != 1 || !mask.hasStaticShape() || !mask.getElementType().isInteger(1))
    return {};
  return {slice.getInput(), slice.getStarts().front()};
}

static std::optional<Expert> expertOf(ProgramsOpInterface op, ConstantExpressions &constants, Value &mask) {
  constexpr int64_t kLeastBytes = 4096;
  Value guard;
  Expert expert{op, 0, {}};
  for (OpOperand &operand : op->getOpOperands()) {
    const Value value = operand.get(), own = op.getGuard(operand.getOperandNumber());
    if (!own || !constants.contains(value) || !value.hasOneUse() || tensorBytes(value.getType()) < kLeastBytes)
      continue;
    if (guard && own != guard)
      return std::nullopt;
    guard = own;
    expert.weights.push_back(operand.getOperandNumber());
  }
  if (!guard)
    return std::nullopt;
  std::tie(mask, expert.element) = elementOfMask(guard);
  return mask && !constants.contains(mask) ? std::optional(std::move(expert)) : std::nullopt;
}

static SmallVector<Type> weightTypes(const Expert &expert) {
  SmallVector<Type> types;
  for (unsigned operand : expert.weights)
    types.push_back(expert.op->getOperand(operand).getType());
  return types;
}

std::vector<ExpertGroup> findExperts(Block &block) {
  ConstantExpressions constants(block);
  llvm::MapVector<Value, std::vector<Expert>> byMask;
  for (auto op : block.getOps<ProgramsOpInterface>()) {
    Value mask;
    if (std::optional<Expert> expert = expertOf(op, constants, mask))
      byMask[mask].push_back(std::move(*expert));
  }
  std::vector<ExpertGroup> groups;
  for (auto &[mask, members] : byMask) {
    llvm::stable_sort(members, [](const Expert &a, const Expert &c) { return a.element < c.element; });
    bool isGroup = members.size() > 1;
    for (size_t i = 1; i < members.size(); ++i)
      isGroup &= members[i].element != members[i - 1].element && weightTypes(members[i]) == weightTypes(members[0]);
    if (isGroup)
      groups.push_back({mask, std::move(members)});
  }
  return groups;
}

} // namespace sluice::dataflow
