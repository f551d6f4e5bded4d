//===- Movement.cpp - Movement, gathers and scatters on parts -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static constexpr int64_t kWhole = RuleList::kWhole;

static std::string dimName(int64_t dim) { return "dim " + std::to_string(dim); }

static std::vector<TilingRule> rulesOfTranspose(TransposeOp op) {
  RuleList rules(op);
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    rules.split(dimName(from), {from}, {static_cast<int64_t>(to)});
  return rules.take();
}

/// Dimensions fall into groups of equal products; the outermost of each group, split, is a
/// contiguous part of it on both sides.
static std::vector<TilingRule> rulesOfReshape(ReshapeOp op) {
  RuleList rules(op);
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = op.getType().getShape();
  if (product(to) == 0)
    return {};
  int64_t in = 0, out = 0, inRank = from.size(), outRank = to.size();
  while (in < inRank && out < outRank) {
    // Extents of 1 belong to no group.
    if (from[in] == 1 || to[out] == 1) {
      ++(from[in] == 1 ? in : out);
      continue;
    }
    rules.split(dimName(in), {in}, {out});
    int64_t left = from[in++], right = to[out++];
    while (left != right)
      if (left < right)
        left *= from[in++];
      else
        right *= to[out++];
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfExpand(ExpandOp op) {
  RuleList rules(op);
  rules.aligned([](int64_t) { return true; });
  return rules.take();
}

static std::vector<TilingRule> rulesOfTile(TileOp op) {
  RuleList rules(op);
  for (auto [i, extent] : llvm::enumerate(shapeOf(op.getInput()))) {
    auto dim = static_cast<int64_t>(i);
    int64_t wanted = op.getType().getDimSize(i);
    if (extent == wanted)
      rules.split(dimName(dim), {dim}, {dim});
    else if (TilingRule *rule = rules.split(dimName(dim), {kWhole}, {dim})) {
      rule->divisor = wanted / extent; // Whole repetitions.
      rule->uneven = false;
    }
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfSlice(SliceOp op) {
  RuleList rules(op);
  rules.aligned([&](int64_t dim) {
    return op.getStarts()[dim] == 0 && op.getSteps()[dim] == 1 &&
           shapeOf(op.getInput())[dim] == op.getType().getDimSize(dim);
  });
  return rules.take();
}

static std::vector<TilingRule> rulesOfConcat(ConcatOp op) {
  RuleList rules(op);
  rules.aligned([&](int64_t dim) { return dim != static_cast<int64_t>(op.getAxis()); });
  return rules.take();
}

static std::vector<TilingRule> rulesOfPad(PadOp op) {
  RuleList rules(op);
  rules.aligned(
      [&](int64_t dim) { return op.getLow()[dim] == 0 && shapeOf(op.getInput())[dim] == op.getType().getDimSize(dim); },
      [](unsigned operand) { return operand == 0; });
  return rules.take();
}

/// Sums over parts of such elements are theirs.
static bool canSum(Type element) { return !element.isInteger(1) && !isString(element); }

static std::vector<TilingRule> rulesOfGather(GatherOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis(), rank = typeOf(op.getData()).getRank(), indexRank = typeOf(op.getIndices()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      rules.split("data " + std::to_string(dim), {dim, kWhole}, {dim < axis ? dim : dim + indexRank - 1});
  for (int64_t dim = 0; dim < indexRank; ++dim)
    rules.split("indices " + std::to_string(dim), {kWhole, dim}, {axis + dim});
  if (canSum(op.getType().getElementType()))
    if (TilingRule *rule = rules.partial("gathered", {axis, kWhole}, PartialKind::Sum, true))
      rule->dividesWork = false;
  return rules.take();
}

/// Where the gathered dimension is split, a part knows some of the elements; for the others it says 0.
static SmallVector<Value> buildGatherPart(GatherOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                          ValueRange operands) {
  const auto *split = llvm::find_if(rules, [](const PartRule &r) { return r.parts > 1 && r.rule->name == "gathered"; });
  if (split == rules.end())
    return buildPartWith(op, build, rules, operands, {});
  int64_t axis = op.getAxis(), extent = shapeOf(op.getData())[axis], own = largestPart(extent, split->parts);
  Value indices = operands[1];
  Type element = typeOf(indices).getElementType();
  auto number = [&](int64_t value) { return build.splat(element, static_cast<double>(value)); };
  // As a whole gather: negative ones count from the end, strays are clamped.
  const Value fromEnd = build.add(indices, number(extent));
  indices = build.select(build.compare(ComparePredicate::lt, indices, number(0)), fromEnd, indices);
  const Value last = number(extent - 1);
  indices = build.binary(BinaryKind::min, build.binary(BinaryKind::max, indices, number(0)), last);
  const Value position = build.cast(split->number, element), extentOfPart = number(own);
  Value first = build.mul(position, extentOfPart);
  if (extent % split->parts != 0) {
    // The numbers of the parts that begin later than if all were the smallest.
    SmallVector<int64_t> begins;
    for (int64_t part = 0; part < split->parts; ++part)
      begins.push_back(partBegin(extent, split->parts, part));
    first =
        build.cast(build.create<GatherOp>({build.integers(begins), split->number}, build.integer("axis", 0)), element);
  }
  Value local = build.sub(indices, first);
  const Value isBelow = build.compare(ComparePredicate::lt, local, number(own));
  const Value isAbove = build.compare(ComparePredicate::ge, local, number(0));
  Value isOwn = build.binary(BinaryKind::logical_and, isAbove, isBelow);
  local = build.select(isOwn, local, number(0));
  if (!local)
    return {};
  SmallVector<Value> gathered = buildPartWith(op, build, rules, {operands[0], local}, {});
  if (gathered.empty())
    return {};
  Dims broadcast(shapeOf(local));
  broadcast.append(typeOf(op.getData()).getRank() - axis - 1, 1);
  const Value zero = build.splat(op.getType().getElementType(), 0);
  Value result = build.select(build.reshape(isOwn, broadcast), gathered[0], zero);
  return result ? SmallVector<Value>{result} : SmallVector<Value>();
}

static std::vector<TilingRule> rulesOfGatherElements(GatherElementsOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis();
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
    if (dim == axis)
      rules.split(dimName(dim), {kWhole, dim}, {dim});
    else if (shapeOf(op.getData())[dim] == op.getType().getDimSize(dim))
      rules.split(dimName(dim), {dim, dim}, {dim});
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfGatherNd(GatherNdOp op) {
  RuleList rules(op);
  int64_t batch = op.getBatchDims(), rows = typeOf(op.getIndices()).getRank() - 1;
  for (int64_t dim = 0; dim < rows; ++dim)
    rules.split("indices " + std::to_string(dim), {dim < batch ? dim : kWhole, dim}, {dim});
  // Result dimensions behind the indices' are those of data behind the tuples.
  int64_t first = batch + shapeOf(op.getIndices()).back();
  for (int64_t dim = first; dim < typeOf(op.getData()).getRank(); ++dim)
    rules.split("data " + std::to_string(dim), {dim, kWhole}, {rows + dim - first});
  return rules.take();
}

/// Whether every element is 0: updates of parts then add up to those of the whole.
static bool isZero(Value value) {
  while (auto expand = value.getDefiningOp<ExpandOp>())
    value = expand.getInput();
  return getSplat(value) == 0.0;
}

static std::vector<TilingRule> rulesOfScatterElements(ScatterElementsOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis();
  bool adds = op.getKind() == ScatterKind::add && isZero(op.getData()) && canSum(op.getType().getElementType());
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
    if (dim == axis && adds)
      rules.partial(dimName(dim), {kWhole, dim, dim}, PartialKind::Sum, true);
    else if (dim != axis && shapeOf(op.getIndices())[dim] == op.getType().getDimSize(dim))
      rules.split(dimName(dim), {dim, dim, dim}, {dim});
  }
  return rules.take();
}

static std::vector<TilingRule> rulesOfScatterNd(ScatterNdOp op) {
  RuleList rules(op);
  int64_t rows = typeOf(op.getIndices()).getRank() - 1, tuple = shapeOf(op.getIndices()).back();
  for (int64_t dim = tuple; dim < op.getType().getRank(); ++dim)
    rules.split("data " + std::to_string(dim), {dim, kWhole, rows + dim - tuple}, {dim});
  if (op.getKind() == ScatterKind::add && isZero(op.getData()) && canSum(op.getType().getElementType()))
    for (int64_t dim = 0; dim < rows; ++dim)
      rules.partial("updates " + std::to_string(dim), {kWhole, dim, dim}, PartialKind::Sum, true);
  return rules.take();
}

static std::vector<TilingRule> rulesOfOneHot(OneHotOp op) {
  RuleList rules(op);
  int64_t axis = op.getAxis();
  for (int64_t dim = 0; dim < typeOf(op.getIndices()).getRank(); ++dim)
    rules.split(dimName(dim), {dim, kWhole}, {dim < axis ? dim : dim + 1});
  return rules.take();
}

void sluice::dataflow::attachMovementRules(MLIRContext *context) {
  attach<TilingModel<rulesOfTranspose>, TilingModel<rulesOfReshape>, TilingModel<rulesOfExpand>,
         TilingModel<rulesOfTile>, TilingModel<rulesOfSlice>, TilingModel<rulesOfConcat>, TilingModel<rulesOfPad>,
         TilingModel<rulesOfGather, buildGatherPart>, TilingModel<rulesOfGatherElements>, TilingModel<rulesOfGatherNd>,
         TilingModel<rulesOfScatterElements>, TilingModel<rulesOfScatterNd>, TilingModel<rulesOfOneHot>>(context);
}
