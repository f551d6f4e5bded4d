//===- Movement.cpp - Movement, gathers and scatters on parts -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Models.h"

#include <numeric>

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

/// Dimensions that a reshape joins or divides: those from `begin` up to `end` of the operand and of the result have
/// equal products.
struct ReshapedDims {
  int64_t begin[2], end[2];
};

static SmallVector<ReshapedDims> reshapedDims(ReshapeOp op) {
  SmallVector<ReshapedDims> groups;
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
    ReshapedDims group{{in, out}, {}};
    int64_t left = from[in++], right = to[out++];
    while (left != right)
      if (left < right)
        left *= from[in++];
      else
        right *= to[out++];
    group.end[0] = in, group.end[1] = out;
    groups.push_back(group);
  }
  return groups;
}

/// The outermost dimension of each group, split, is a contiguous part of the group on both sides.
static std::vector<TilingRule> rulesOfReshape(ReshapeOp op) {
  RuleList rules(op);
  for (const ReshapedDims &group : reshapedDims(op))
    rules.split(dimName(group.begin[0]), {group.begin[0]}, {group.begin[1]});
  return rules.take();
}

/// Within a group, dimensions before the split one, and its own blocks, are blocks of all the group's elements. A
/// dimension of the other side that begins in the same place is split in as many.
static std::optional<TilingRule> stridedReshape(ReshapeOp op, unsigned slot, int64_t dim, uint32_t blocks) {
  const SmallVector<ReshapedDims> groups = reshapedDims(op);
  const auto *group =
      llvm::find_if(groups, [&](const ReshapedDims &each) { return each.begin[slot] <= dim && dim < each.end[slot]; });
  const ArrayRef<int64_t> shapes[] = {shapeOf(op.getInput()), op.getType().getShape()};
  if (group == groups.end() || shapes[slot][dim] % blocks != 0)
    return std::nullopt;
  auto before = [&](unsigned side, int64_t at) {
    return product(shapes[side].slice(group->begin[side], at - group->begin[side]));
  };
  const int64_t all = before(slot, dim) * blocks;
  const unsigned other = 1 - slot;
  for (int64_t at = group->begin[other]; all > 1 && at < group->end[other]; ++at) {
    const int64_t outside = before(other, at), extent = shapes[other][at], inside = all / outside;
    if (all % outside != 0 || inside >= extent || extent % inside != 0 || inside > kMostBlocks)
      continue;
    TilingRule rule;
    rule.divisor = std::gcd(shapes[slot][dim] / blocks, extent / inside);
    if (rule.divisor < 2)
      return std::nullopt;
    const AxisTiling own = AxisTiling::split(static_cast<uint32_t>(dim), blocks),
                     others = AxisTiling::split(static_cast<uint32_t>(at), static_cast<uint32_t>(inside));
    rule.operands = {slot == 0 ? own : others};
    rule.results = {slot == 0 ? others : own};
    rule.name = dimName(rule.operands[0].dim);
    if (rule.operands[0].blocks > 1)
      rule.name += " in " + std::to_string(rule.operands[0].blocks) + " blocks";
    return rule;
  }
  return std::nullopt;
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
      rule->uneven = rule->pointwise = false;
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

/// The width of blocks of a dimension of `extent` that is split in `blocks`, if parts of it that begin with these
/// elements consist of whole blocks; else 0.
static int64_t widthOf(int64_t extent, uint32_t blocks, ArrayRef<int64_t> begins) {
  if (extent == 0 || extent % blocks != 0)
    return 0;
  const int64_t width = extent / blocks;
  return llvm::all_of(begins, [&](int64_t begin) { return begin >= 0 && begin % width == 0; }) ? width : 0;
}

static std::string inBlocks(int64_t dim, int64_t extent, int64_t width) {
  return dimName(dim) + " in " + std::to_string(width > 0 ? extent / width : 0) + " blocks";
}

/// What is taken are whole blocks of the operand.
static std::optional<TilingRule> stridedSlice(SliceOp op, unsigned slot, int64_t dim, uint32_t blocks) {
  const int64_t in = shapeOf(op.getInput())[dim], out = op.getType().getDimSize(dim);
  if (op.getSteps()[dim] != 1 || in == 0 || out == 0)
    return std::nullopt;
  const int64_t width = widthOf(slot == 0 ? in : out, blocks, op.getStarts()[dim]);
  return ruleInBlocks(inBlocks(dim, in, width), {dim}, {in}, dim, out, width);
}

/// Numbers of elements along the dimensions that rules split, on a part.
static SmallVector<int64_t> onPart(ArrayRef<int64_t> whole, ArrayRef<PartRule> rules) {
  SmallVector<int64_t> result(whole);
  for (const PartRule &rule : rules)
    if (rule.rule->operands[0].isSplit())
      result[rule.rule->operands[0].dim] /= rule.parts;
  return result;
}

static SmallVector<Value> buildSlicePart(SliceOp op, TensorBuilder &build, ArrayRef<PartRule> rules,
                                         ValueRange operands) {
  return buildPartWith(op, build, rules, operands, {build.list("starts", onPart(op.getStarts(), rules))});
}

/// The parts that are joined are whole blocks of the result.
static std::optional<TilingRule> stridedConcat(ConcatOp op, unsigned slot, int64_t dim, uint32_t blocks) {
  const int64_t out = op.getType().getDimSize(dim);
  if (dim != static_cast<int64_t>(op.getAxis()) || out == 0)
    return std::nullopt;
  SmallVector<int64_t> begins, extents;
  int64_t begin = 0;
  for (Value operand : op.getInputs()) {
    extents.push_back(shapeOf(operand)[dim]);
    begins.push_back(begin += extents.back());
  }
  const bool isResult = slot == op.getInputs().size();
  const int64_t width = widthOf(isResult ? out : extents[slot], blocks, begins);
  if (llvm::is_contained(extents, 0))
    return std::nullopt;
  return ruleInBlocks(inBlocks(dim, out, width), SmallVector<int64_t>(extents.size(), dim), extents, dim, out, width);
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

/// The elements that are added are whole blocks of the result.
static std::optional<TilingRule> stridedPad(PadOp op, unsigned slot, int64_t dim, uint32_t blocks) {
  if (slot == 1 || op.getMode() != PadMode::constant)
    return std::nullopt;
  const int64_t in = shapeOf(op.getInput())[dim], out = op.getType().getDimSize(dim);
  if (in == 0 || out == 0)
    return std::nullopt;
  const int64_t width = widthOf(slot == 0 ? in : out, blocks, op.getLow()[dim]);
  return ruleInBlocks(inBlocks(dim, out, width), {dim, kWhole}, {in, 0}, dim, out, width);
}

static SmallVector<Value> buildPadPart(PadOp op, TensorBuilder &build, ArrayRef<PartRule> rules, ValueRange operands) {
  return buildPartWith(op, build, rules, operands, {build.list("low", onPart(op.getLow(), rules))});
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
      rule->dividesWork = rule->pointwise = false;
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
  attach<TilingModel<rulesOfTranspose>, StridedModel<rulesOfReshape, stridedReshape>, TilingModel<rulesOfExpand>,
         TilingModel<rulesOfTile>, StridedModel<rulesOfSlice, stridedSlice, buildSlicePart>,
         StridedModel<rulesOfConcat, stridedConcat>, StridedModel<rulesOfPad, stridedPad, buildPadPart>,
         TilingModel<rulesOfGather, buildGatherPart>, TilingModel<rulesOfGatherElements>, TilingModel<rulesOfGatherNd>,
         TilingModel<rulesOfScatterElements>, TilingModel<rulesOfScatterNd>, TilingModel<rulesOfOneHot>>(context);
}
