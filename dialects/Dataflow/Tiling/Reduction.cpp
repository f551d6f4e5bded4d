//===- Reduction.cpp - Reductions and normalisations on parts -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

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

static std::vector<TilingRule> rulesOfReduce(ReduceOp op) {
  RuleList rules(op);
  const Type element = op.getType().getElementType();
  std::optional<PartialKind> joined = joinParts(op.getKind(), element);
  int64_t place = 0;
  for (int64_t dim = 0; dim < typeOf(op.getInput()).getRank(); ++dim) {
    std::string name = "dim " + std::to_string(dim);
    bool isReduced = llvm::is_contained(op.getAxes(), dim);
    if (!isReduced)
      rules.split(name, {dim}, {place});
    else if (joined)
      rules.partial(name, {dim}, *joined, *joined == PartialKind::Sum || isa<Float32Type, Float64Type>(element));
    place += !isReduced || op.getKeepDims();
  }
  return rules.take();
}

static SmallVector<Value> buildReducePart(ReduceOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                          ValueRange operands) {
  SmallVector<Value> results = buildPartWith(op, build, rules, operands, {});
  // The share of the largest part in the whole, for which the mean of a part is one of zeros too.
  double part = 1, whole = 1;
  for (const PartRule &rule : rules)
    if (rule.rule->results[0].isPartial()) {
      part *= static_cast<double>(largestPart(rule.rule->divisor, rule.parts));
      whole *= static_cast<double>(rule.rule->divisor);
    }
  if (op.getKind() == ReduceKind::mean && part < whole && !results.empty())
    results[0] = build.mul(results[0], build.splat(op.getType().getElementType(), part / whole));
  return results;
}

static std::vector<TilingRule> rulesOfArgReduce(ArgReduceOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis();
  for (int64_t dim = 0; dim < typeOf(op.getInput()).getRank(); ++dim)
    if (dim != axis)
      rules.split("dim " + std::to_string(dim), {dim}, {dim - (dim > axis && !op.getKeepDims() ? 1 : 0)});
  return rules.take();
}

/// Of operators whose tensors have one shape but for one dimension.
static std::vector<TilingRule> allBut(Operation *op, int64_t axis) {
  RuleList rules(op);
  rules.aligned([&](int64_t dim) { return dim != axis; });
  return rules.take();
}

static std::vector<TilingRule> rulesOfCumsum(CumsumOp op) { return allBut(op, op.getAxis()); }
static std::vector<TilingRule> rulesOfTopk(TopkOp op) { return allBut(op, op.getAxis()); }
static std::vector<TilingRule> rulesOfSoftmax(SoftmaxOp op) { return allBut(op, op.getAxis()); }
static std::vector<TilingRule> rulesOfLrn(LrnOp op) { return allBut(op, op.getChannelAxis()); }

static std::vector<TilingRule> rulesOfLayerNorm(LayerNormOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis();
  rules.aligned([&](int64_t dim) { return dim < axis; });
  return rules.take();
}

/// Of operators on an input and vectors of its channels: `results` of them, likewise.
static void addChannelRule(RuleList &rules, Operation *op) {
  SmallVector<int64_t> operands(op->getNumOperands(), 0), results(op->getNumResults(), 0);
  operands[0] = results[0] = 1;
  rules.split("channels", operands, results);
}

static std::vector<TilingRule> rulesOfInstanceNorm(InstanceNormOp op) {
  RuleList rules(op);
  rules.split("batch", {0}, {0});
  addChannelRule(rules, op);
  return rules.take();
}

static std::vector<TilingRule> rulesOfBatchNorm(BatchNormOp op) {
  RuleList rules(op);
  addChannelRule(rules, op);
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim)
    if (dim != 1)
      rules.split("dim " + std::to_string(dim), {dim}, {dim});
  return rules.take();
}

static std::vector<TilingRule> rulesOfBatchNormTrain(BatchNormTrainOp op) {
  RuleList rules(op);
  addChannelRule(rules, op);
  return rules.take();
}

static std::vector<TilingRule> rulesOfTreeEnsemble(TreeEnsembleOp op) {
  RuleList rules(op);
  rules.split("rows", {0}, {0});
  return rules.take();
}

static std::vector<TilingRule> rulesOfCoupleProbabilities(CoupleProbabilitiesOp op) {
  RuleList rules(op);
  rules.split("rows", {0}, {0});
  return rules.take();
}

void sluice::dataflow::attachReductionRules(MLIRContext *context) {
  attach<TilingModel<rulesOfReduce, buildReducePart>, TilingModel<rulesOfArgReduce>, TilingModel<rulesOfCumsum>,
         TilingModel<rulesOfTopk>, TilingModel<rulesOfSoftmax>, TilingModel<rulesOfLrn>, TilingModel<rulesOfLayerNorm>,
         TilingModel<rulesOfInstanceNorm>, TilingModel<rulesOfBatchNorm>, TilingModel<rulesOfBatchNormTrain>,
         TilingModel<rulesOfTreeEnsemble>, TilingModel<rulesOfCoupleProbabilities>>(context);
}
