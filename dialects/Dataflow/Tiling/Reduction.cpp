//===- Reduction.cpp - Reductions and normalisations on parts -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Rules.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// How the reductions of parts become that of the whole, where they do.
static std::optional<PartialKind> joinParts(ReduceKind kind, Type element) {
  // Ranks compare 64 bits as signed ones.
  if (element.isUnsignedInteger(64) && (kind == ReduceKind::max || kind == ReduceKind::min))
    return std::nullopt;
  switch (kind) {
  case ReduceKind::mean: // Each part is divided by the number of parts.
    return isa<FloatType>(element) ? std::optional(PartialKind::Sum) : std::nullopt;
  case ReduceKind::sum:
  case ReduceKind::l1:
  case ReduceKind::sum_square:
    return PartialKind::Sum;
  case ReduceKind::max:
    return PartialKind::Max;
  case ReduceKind::min:
    return PartialKind::Min;
  default:
    return std::nullopt;
  }
}

std::vector<TilingRule> ReduceOp::getTilingRules() {
  RuleList rules(*this);
  std::optional<PartialKind> joined = joinParts(getKind(), getType().getElementType());
  int64_t place = 0;
  for (int64_t dim = 0; dim < typeOf(getInput()).getRank(); ++dim) {
    std::string name = "dim " + std::to_string(dim);
    bool isReduced = llvm::is_contained(getAxes(), dim);
    if (!isReduced)
      rules.split(name, {dim}, {place});
    else if (joined)
      rules.partial(name, {dim}, *joined);
    place += !isReduced || getKeepDims();
  }
  return rules.take();
}

SmallVector<Value> ReduceOp::buildPart(TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  SmallVector<Value> results = detail::buildSamePart(*this, build, rules, operands);
  int64_t parts = 1;
  for (const PartRule &rule : rules)
    if (rule.rule->results[0].isPartial())
      parts *= rule.parts;
  if (getKind() == ReduceKind::mean && parts > 1 && !results.empty())
    results[0] = build.mul(results[0], build.splat(getType().getElementType(), 1.0 / static_cast<double>(parts)));
  return results;
}

std::vector<TilingRule> ArgReduceOp::getTilingRules() {
  RuleList rules(*this);
  int64_t axis = getAxis();
  for (int64_t dim = 0; dim < typeOf(getInput()).getRank(); ++dim)
    if (dim != axis)
      rules.split("dim " + std::to_string(dim), {dim}, {dim - (dim > axis && !getKeepDims() ? 1 : 0)});
  return rules.take();
}

/// Of operators whose tensors have one shape but for one dimension.
static std::vector<TilingRule> allBut(Operation *op, int64_t axis) {
  RuleList rules(op);
  rules.aligned([&](int64_t dim) { return dim != axis; });
  return rules.take();
}

std::vector<TilingRule> CumsumOp::getTilingRules() { return allBut(*this, getAxis()); }
std::vector<TilingRule> TopkOp::getTilingRules() { return allBut(*this, getAxis()); }
std::vector<TilingRule> SoftmaxOp::getTilingRules() { return allBut(*this, getAxis()); }
std::vector<TilingRule> LrnOp::getTilingRules() { return allBut(*this, getChannelAxis()); }

std::vector<TilingRule> LayerNormOp::getTilingRules() {
  RuleList rules(*this);
  int64_t axis = getAxis();
  rules.aligned([&](int64_t dim) { return dim < axis; });
  return rules.take();
}

/// Of operators on an input and vectors of its channels: `results` of them, likewise.
static void addChannelRule(RuleList &rules, Operation *op) {
  SmallVector<int64_t> operands(op->getNumOperands(), 0), results(op->getNumResults(), 0);
  operands[0] = results[0] = 1;
  rules.split("channels", operands, results);
}

std::vector<TilingRule> InstanceNormOp::getTilingRules() {
  RuleList rules(*this);
  rules.split("batch", {0}, {0});
  addChannelRule(rules, *this);
  return rules.take();
}

std::vector<TilingRule> BatchNormOp::getTilingRules() {
  RuleList rules(*this);
  addChannelRule(rules, *this);
  for (int64_t dim = 0; dim < getType().getRank(); ++dim)
    if (dim != 1)
      rules.split("dim " + std::to_string(dim), {dim}, {dim});
  return rules.take();
}

std::vector<TilingRule> BatchNormTrainOp::getTilingRules() {
  RuleList rules(*this);
  addChannelRule(rules, *this);
  return rules.take();
}
