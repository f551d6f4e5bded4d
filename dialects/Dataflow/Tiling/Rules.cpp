//===- Rules.cpp - Element-wise operators, and what rules share -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Rules.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/Tiling/Models.h"

#include <numeric>

using namespace mlir;

namespace sluice::dataflow {

/// The tilings of values split along `dims`; their extents' common divisor joins `divisor`, and the largest `most`.
static std::vector<AxisTiling> tilingsOf(ValueRange values, ArrayRef<int64_t> dims, int64_t &divisor, int64_t &most) {
  std::vector<AxisTiling> tilings(values.size());
  for (auto [i, dim] : llvm::enumerate(dims.take_front(values.size()))) {
    if (dim == RuleList::kWhole)
      continue;
    tilings[i] = AxisTiling::split(static_cast<uint32_t>(dim));
    // An empty extent divides into nothing.
    int64_t extent = shapeOf(values[i])[dim];
    divisor = std::gcd(divisor, extent == 0 ? 1 : extent);
    most = std::max(most, extent);
  }
  return tilings;
}

TilingRule *RuleList::split(const std::string &name, Dims operands, Dims results) {
  TilingRule rule;
  rule.name = name;
  rule.divisor = 0;
  int64_t most = 0;
  rule.operands = tilingsOf(op->getOperands(), operands, rule.divisor, most);
  rule.results = tilingsOf(op->getResults(), results, rule.divisor, most);
  if (rule.divisor <= 1)
    return nullptr;
  rule.uneven = rule.pointwise = most == rule.divisor;
  rules.push_back(std::move(rule));
  return &rules.back();
}

TilingRule *RuleList::partial(const std::string &name, Dims operands, PartialKind reduction, bool ignoresNeutral) {
  TilingRule *rule = split(name, operands, {});
  if (rule) {
    rule->results[0] = AxisTiling::partial(reduction);
    rule->uneven &= ignoresNeutral;
  }
  return rule;
}

int64_t alignedDim(Value value, ArrayRef<int64_t> shape, int64_t dim) {
  int64_t at = dim - static_cast<int64_t>(shape.size()) + typeOf(value).getRank();
  return at >= 0 && shapeOf(value)[at] == shape[dim] ? at : RuleList::kWhole;
}

void RuleList::aligned(llvm::function_ref<bool(int64_t)> wanted, llvm::function_ref<bool(unsigned)> follows) {
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
    if (!wanted(dim))
      continue;
    SmallVector<int64_t> operands, results;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(follows(i) ? alignedDim(operand, shape, dim) : kWhole);
    for (Value result : op->getResults())
      results.push_back(alignedDim(result, shape, dim));
    split("dim " + std::to_string(dim), operands, results);
  }
}

void addHalo(TilingRule *rule, int64_t extent, Halo halo) {
  if (!rule || halo.empty())
    return;
  rule->pointwise = false;
  rule->halos.resize(rule->operands.size());
  rule->halos[0] = halo;
  rule->mostParts = std::max<int64_t>(1, extent / std::max(halo.low, halo.high));
}

bool isSplit(ArrayRef<PartRule> rules, unsigned operand, int64_t dim) {
  return llvm::any_of(rules, [&](const PartRule &r) {
    return r.parts > 1 && r.rule->operands[operand].splits(static_cast<uint32_t>(dim));
  });
}

/// A tensor's type on the largest of `parts` parts.
static RankedTensorType partType(RankedTensorType type, AxisTiling tiling, int64_t parts, Halo halo) {
  if (!tiling.isSplit() || parts == 1)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[tiling.dim] = largestPart(shape[tiling.dim], parts) + halo.low + halo.high;
  return RankedTensorType::get(shape, type.getElementType());
}

RankedTensorType operandPartType(Operation *op, unsigned index, ArrayRef<PartRule> rules) {
  RankedTensorType type = typeOf(op->getOperand(index));
  for (const PartRule &r : rules)
    type = partType(type, r.rule->operands[index], r.parts, r.rule->halo(index));
  return type;
}

RankedTensorType resultPartType(Operation *op, unsigned index, ArrayRef<PartRule> rules) {
  RankedTensorType type = typeOf(op->getResult(index));
  for (const PartRule &r : rules)
    type = partType(type, r.rule->results[index], r.parts, {});
  return type;
}

SmallVector<Value> buildPartWith(Operation *op, TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands,
                                 ArrayRef<NamedAttribute> changed) {
  SmallVector<Type> types;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    types.push_back(resultPartType(op, i, rules));
  return build.createLike(op, operands, changed, types);
}

SmallVector<Value> detail::buildSamePart(Operation *op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                         ValueRange operands) {
  return buildPartWith(op, build, rules, operands, {});
}

/// Text is addresses, which mean nothing elsewhere.
static bool splitsText(Operation *op, const TilingRule &rule) {
  auto any = [](ValueRange values, const std::vector<AxisTiling> &tilings) {
    return llvm::any_of(llvm::zip(values, tilings), [](auto pair) {
      return !(std::get<1>(pair) == AxisTiling::replicated()) && isString(typeOf(std::get<0>(pair)).getElementType());
    });
  };
  return any(op->getOperands(), rule.operands) || any(op->getResults(), rule.results);
}

/// Parts have constant extents, so a tensor with an extent that follows a symbol stays whole.
static bool splitsRange(Operation *op, const TilingRule &rule) {
  auto any = [](ValueRange values, const std::vector<AxisTiling> &tilings) {
    return llvm::any_of(llvm::zip(values, tilings), [](auto pair) {
      return !(std::get<1>(pair) == AxisTiling::replicated()) &&
             !llvm::all_of(extentsOf(std::get<0>(pair)), [](const Extent &extent) { return extent.isConstant(); });
    });
  };
  return any(op->getOperands(), rule.operands) || any(op->getResults(), rule.results);
}

std::vector<TilingRule> tilingRules(Operation *op) {
  std::vector<TilingRule> rules;
  if (auto tiling = modelOf<TilingRulesOpInterface>(op)) {
    rules = tiling.getTilingRules();
  } else if (isa<ElementwiseOpInterface>(op)) {
    RuleList list(op);
    list.aligned([](int64_t) { return true; });
    rules = list.take();
  }
  std::erase_if(rules, [&](const TilingRule &rule) { return splitsText(op, rule) || splitsRange(op, rule); });
  rules.insert(rules.begin(), replicatedRule(op->getNumOperands(), op->getNumResults()));
  return rules;
}

std::optional<TilingRule> ruleInBlocks(const std::string &name, ArrayRef<int64_t> operandDims,
                                       ArrayRef<int64_t> operandExtents, int64_t resultDim, int64_t resultExtent,
                                       int64_t width) {
  auto split = [&](int64_t dim, int64_t extent) -> std::optional<AxisTiling> {
    if (dim == RuleList::kWhole)
      return AxisTiling::replicated();
    if (width < 2 || extent % width != 0 || extent / width > kMostBlocks)
      return std::nullopt;
    return AxisTiling::split(static_cast<uint32_t>(dim), static_cast<uint32_t>(extent / width));
  };
  TilingRule rule;
  rule.name = name;
  rule.divisor = width;
  for (auto [dim, extent] : llvm::zip(operandDims, operandExtents)) {
    std::optional<AxisTiling> tiling = split(dim, extent);
    if (!tiling)
      return std::nullopt;
    rule.operands.push_back(*tiling);
  }
  std::optional<AxisTiling> result = split(resultDim, resultExtent);
  if (!result)
    return std::nullopt;
  rule.results.push_back(*result);
  return rule;
}

/// A pointwise rule in blocks.
static std::optional<TilingRule> inBlocks(TilingRule rule, uint32_t blocks) {
  if (!rule.pointwise || rule.divisor % blocks != 0 || rule.divisor / blocks < 2)
    return std::nullopt;
  rule.name += " in " + std::to_string(blocks) + " blocks";
  rule.divisor /= blocks;
  rule.uneven = rule.pointwise = false;
  for (std::vector<AxisTiling> *tilings : {&rule.operands, &rule.results})
    for (AxisTiling &tiling : *tilings)
      if (tiling.isSplit())
        tiling.blocks = blocks;
  return rule;
}

std::optional<TilingRule> stridedRule(Operation *op, ArrayRef<TilingRule> rules, unsigned slot, int64_t dim,
                                      uint32_t blocks) {
  const unsigned numOperands = op->getNumOperands();
  const AxisTiling contiguous = AxisTiling::split(static_cast<uint32_t>(dim));
  for (const TilingRule &rule : rules)
    if (blocks > 1 && (slot < numOperands ? rule.operands[slot] : rule.results[slot - numOperands]) == contiguous)
      if (std::optional<TilingRule> strided = inBlocks(rule, blocks))
        return strided;
  auto tiling = modelOf<TilingRulesOpInterface>(op);
  std::optional<TilingRule> own = tiling ? tiling.getStridedRule(slot, dim, blocks) : std::nullopt;
  return own && own->isStrided() && !splitsText(op, *own) ? own : std::nullopt;
}

SmallVector<Value> buildPart(Operation *op, TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  auto tiling = modelOf<TilingRulesOpInterface>(op);
  return tiling ? tiling.buildPart(build, rules, operands) : detail::buildSamePart(op, build, rules, operands);
}

Type combinedType(Type element) {
  if (element.isF32() || element.isF64() || element.isSignlessInteger(32) || element.isSignlessInteger(64))
    return element;
  if (isa<FloatType>(element))
    return Float32Type::get(element.getContext());
  return IntegerType::get(element.getContext(), 64);
}

void registerTilingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attachContractionRules(context);
    attachMessageRules(context);
    attachMovementRules(context);
    attachReductionRules(context);
    attachWindowRules(context);
  });
}

} // namespace sluice::dataflow
