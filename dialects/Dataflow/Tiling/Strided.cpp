//===- Strided.cpp - Rules for parts of fused dimensions ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

#include <deque>

using namespace mlir;

namespace sluice::dataflow {

namespace {
/// Fused parts that suggest a strided split: queries, keys and values are 3, the gates of an LSTM 4.
constexpr uint32_t kMostFusedParts = 4;
/// Strided splits of one dimension of a tensor: the first ones that are found.
constexpr size_t kMostSplits = 3;

/// Spreads strided splits from tensor to tensor through the operators that have rules for them.
class Spreader {
public:
  Spreader(ArrayRef<Operation *> operators, MutableArrayRef<std::vector<TilingRule> *> rules)
      : operators(operators), rules(rules) {
    for (size_t i = 0; i < operators.size(); ++i)
      for (unsigned slot = 0; slot < numSlots(i); ++slot)
        uses[valueOf(i, slot)].emplace_back(i, slot);
  }

  void run() {
    for (size_t i = 0; i < operators.size(); ++i)
      suggest(i);
    while (!open.empty()) {
      const auto [value, split] = open.front();
      open.pop_front();
      for (auto [op, slot] : uses[value])
        if (std::optional<TilingRule> rule = stridedRule(operators[op], *rules[op], slot, split.dim, split.blocks))
          add(op, std::move(*rule));
    }
  }

private:
  unsigned numSlots(size_t op) const { return operators[op]->getNumOperands() + operators[op]->getNumResults(); }
  Value valueOf(size_t op, unsigned slot) const {
    const unsigned numOperands = operators[op]->getNumOperands();
    return slot < numOperands ? operators[op]->getOperand(slot) : operators[op]->getResult(slot - numOperands);
  }
  static AxisTiling tilingOf(const TilingRule &rule, unsigned slot) {
    return slot < rule.operands.size() ? rule.operands[slot] : rule.results[slot - rule.operands.size()];
  }

  void suggest(size_t op) {
    for (unsigned slot = 0; slot < numSlots(op); ++slot)
      for (int64_t dim = 0; dim < typeOf(valueOf(op, slot)).getRank(); ++dim) {
        std::optional<TilingRule> rule = stridedRule(operators[op], *rules[op], slot, dim, 1);
        bool isFew = rule.has_value();
        for (unsigned other = 0; isFew && other < numSlots(op); ++other)
          isFew = tilingOf(*rule, other).blocks <= kMostFusedParts;
        if (isFew)
          add(op, std::move(*rule));
      }
  }

  void add(size_t op, TilingRule rule) {
    if (llvm::any_of(*rules[op], [&](const TilingRule &known) { return known.name == rule.name; }))
      return;
    for (unsigned slot = 0; slot < numSlots(op); ++slot)
      if (const AxisTiling split = tilingOf(rule, slot); split.blocks > 1 && !mayHold(valueOf(op, slot), split))
        return;
    for (unsigned slot = 0; slot < numSlots(op); ++slot)
      if (const AxisTiling split = tilingOf(rule, slot); split.blocks > 1) {
        SmallVector<AxisTiling> &known = splits[valueOf(op, slot)];
        if (llvm::is_contained(known, split))
          continue;
        known.push_back(split);
        open.emplace_back(valueOf(op, slot), split);
      }
    rules[op]->push_back(std::move(rule));
  }

  bool mayHold(Value value, AxisTiling split) const {
    const auto known = splits.find(value);
    if (known == splits.end() || llvm::is_contained(known->second, split))
      return true;
    return llvm::count_if(known->second, [&](AxisTiling each) { return each.dim == split.dim; }) <
           static_cast<ptrdiff_t>(kMostSplits);
  }

  ArrayRef<Operation *> operators;
  MutableArrayRef<std::vector<TilingRule> *> rules;
  llvm::DenseMap<Value, SmallVector<std::pair<size_t, unsigned>>> uses; ///< The operators and slots of each tensor.
  llvm::DenseMap<Value, SmallVector<AxisTiling>> splits;
  std::deque<std::pair<Value, AxisTiling>> open; ///< Splits whose tensors' operators were not asked yet.
};
} // namespace

void addStridedRules(ArrayRef<Operation *> operators, MutableArrayRef<std::vector<TilingRule> *> rules) {
  Spreader(operators, rules).run();
}

} // namespace sluice::dataflow
