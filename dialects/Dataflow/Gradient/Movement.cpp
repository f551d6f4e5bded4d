//===- Movement.cpp - Gradients of what moves data ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Models.h"
#include "dialects/Dataflow/IR/Refuse.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::dataflow {

Value sumTo(TensorBuilder &build, Value gradient, ArrayRef<int64_t> shape) {
  if (!gradient || shapeOf(gradient) == shape)
    return gradient;
  ArrayRef<int64_t> from = shapeOf(gradient);
  // A scalar derivative of a larger operand: repeat it first.
  auto both = broadcastShapes({from, shape});
  if (failed(both))
    return {};
  gradient = build.expand(gradient, *both);
  from = shapeOf(gradient);
  int64_t extra = static_cast<int64_t>(from.size()) - static_cast<int64_t>(shape.size());
  Dims axes;
  for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d)
    if (d < extra || (shape[d - extra] == 1 && from[d] != 1))
      axes.push_back(d);
  if (!axes.empty())
    gradient = build.reduce(ReduceKind::sum, gradient, axes, /*keepDims=*/true);
  return build.reshape(gradient, shape);
}

Value padTo(TensorBuilder &build, Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> shape) {
  if (!x || (shapeOf(x) == shape && llvm::all_of(low, [](int64_t value) { return value == 0; })))
    return x;
  return build.create<PadOp>(
      {x, number(build, x, 0)},
      {build.attribute("mode", PadModeAttr::get(build.context(), PadMode::constant)), build.list("low", low)},
      {build.type(elementOf(x), shape)});
}

Value unslice(TensorBuilder &build, Value gradient, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
              RankedTensorType type) {
  if (elementCount(gradient.getType()) == 0)
    return zeros(build, type);
  Dims low(starts), extents(shapeOf(gradient)), reversed;
  Dims from(starts.size(), 0), by(starts.size(), 1);
  bool reverses = false;
  for (size_t d = 0; d < steps.size(); ++d) {
    // Backwards: what was read last lies lowest.
    if (steps[d] < 0) {
      reverses = true;
      from[d] = extents[d] - 1;
      by[d] = -1;
      low[d] += (extents[d] - 1) * steps[d];
    }
  }
  if (reverses)
    gradient = build.slice(gradient, from, by, extents);
  for (size_t d = 0; d < steps.size(); ++d) {
    int64_t step = std::abs(steps[d]);
    if (step == 1 || extents[d] <= 1)
      continue;
    // Each element becomes itself and step - 1 zeros.
    Dims split(extents), spread;
    split.insert(split.begin() + d + 1, 1);
    spread = split;
    spread[d + 1] = step;
    extents[d] *= step;
    gradient = build.reshape(padTo(build, build.reshape(gradient, split), Dims(split.size(), 0), spread), extents);
  }
  return padTo(build, gradient, low, type.getShape());
}

} // namespace sluice::dataflow

static LogicalResult differentiateTranspose(TransposeOp op, TensorBuilder &build, ArrayRef<Value> results,
                                            ArrayRef<bool>, Gradients operands) {
  Dims inverse(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    inverse[from] = static_cast<int64_t>(to);
  operands[0] = build.transpose(results[0], inverse);
  return success();
}

static LogicalResult differentiateReshape(ReshapeOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                          Gradients operands) {
  operands[0] = build.reshape(results[0], shapeOf(op.getInput()));
  return success();
}

static LogicalResult differentiateExpand(ExpandOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                         Gradients operands) {
  operands[0] = sumTo(build, results[0], shapeOf(op.getInput()));
  return success();
}

static LogicalResult differentiateTile(TileOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                       Gradients operands) {
  Dims split, repeats;
  for (auto [in, out] : llvm::zip(shapeOf(op.getInput()), shapeOf(op.getResult()))) {
    repeats.push_back(static_cast<int64_t>(split.size()));
    split.push_back(in == 0 ? 0 : out / in);
    split.push_back(in);
  }
  Value sum = build.reduce(ReduceKind::sum, build.reshape(results[0], split), repeats, /*keepDims=*/false);
  operands[0] = build.reshape(sum, shapeOf(op.getInput()));
  return success();
}

static LogicalResult differentiateSlice(SliceOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                        Gradients operands) {
  operands[0] = unslice(build, results[0], op.getStarts(), op.getSteps(), typeOf(op.getInput()));
  return success();
}

static LogicalResult differentiateConcat(ConcatOp op, TensorBuilder &build, ArrayRef<Value> results,
                                         ArrayRef<bool> wanted, Gradients operands) {
  int64_t start = 0, axis = op.getAxis();
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    int64_t extent = shapeOf(input)[axis];
    if (wanted[i])
      operands[i] = build.sliceAxis(results[0], axis, start, extent);
    start += extent;
  }
  return success();
}

static LogicalResult differentiatePad(PadOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool> wanted,
                                      Gradients operands) {
  if (op.getMode() != PadMode::constant)
    return sluice::refuseUnsupported(op) << "'" << stringifyPadMode(op.getMode()) << "' has no gradient";
  Dims back;
  for (int64_t low : op.getLow())
    back.push_back(-low);
  Value g = results[0], inside = padTo(build, g, back, shapeOf(op.getInput()));
  if (wanted[0])
    operands[0] = inside;
  if (wanted[1]) {
    auto total = [&](Value x) {
      return build.reduce(ReduceKind::sum, x, trailingAxes(0, typeOf(x).getRank()), /*keepDims=*/false);
    };
    const Value totalInside = total(inside);
    operands[1] = build.reshape(build.sub(total(g), totalInside), shapeOf(op.getValue()));
  }
  return success();
}

static Value scatterElements(TensorBuilder &build, ScatterKind kind, Value data, Value indices, Value updates,
                             int64_t axis) {
  return build.create<ScatterElementsOp>(
      {data, indices, updates},
      {build.attribute("kind", ScatterKindAttr::get(build.context(), kind)), build.integer("axis", axis)});
}

static Value scatterNd(TensorBuilder &build, ScatterKind kind, Value data, Value indices, Value updates) {
  return build.create<ScatterNdOp>({data, indices, updates},
                                   build.attribute("kind", ScatterKindAttr::get(build.context(), kind)));
}

static LogicalResult differentiateGather(GatherOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                         Gradients operands) {
  // Bring the gathered axis first: then each index addresses a slice.
  int64_t axis = op.getAxis(), rank = typeOf(op.getData()).getRank(), indexRank = typeOf(op.getIndices()).getRank();
  Dims gathered, data{axis}, back(rank);
  for (int64_t i = 0; i < indexRank; ++i)
    gathered.push_back(axis + i);
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) {
      gathered.push_back(i < axis ? i : i + indexRank - 1);
      data.push_back(i);
    }
  for (auto [to, from] : llvm::enumerate(data))
    back[from] = static_cast<int64_t>(to);
  Dims tuples(shapeOf(op.getIndices()));
  tuples.push_back(1);
  auto type = RankedTensorType::get(permuted<int64_t>(shapeOf(op.getData()), data), elementOf(op.getData()));
  const Value updates = axis == 0 ? results[0] : build.transpose(results[0], gathered);
  const Value indices = build.reshape(op.getIndices(), tuples);
  Value sum = scatterNd(build, ScatterKind::add, zeros(build, type), indices, updates);
  operands[0] = axis == 0 ? sum : build.transpose(sum, back);
  return success();
}

static LogicalResult differentiateGatherElements(GatherElementsOp op, TensorBuilder &build, ArrayRef<Value> results,
                                                 ArrayRef<bool>, Gradients operands) {
  operands[0] = scatterElements(build, ScatterKind::add, zeros(build, typeOf(op.getData())), op.getIndices(),
                                results[0], op.getAxis());
  return success();
}

static LogicalResult differentiateGatherNd(GatherNdOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                           Gradients operands) {
  Value indices = op.getIndices();
  ArrayRef<int64_t> shape = shapeOf(indices);
  // scatter_nd knows no batches: their positions become part of the tuples.
  SmallVector<Value> parts;
  Dims column(shape);
  column.back() = 1;
  int64_t rank = shape.size(), batch = op.getBatchDims();
  for (int64_t d = 0; d < batch; ++d)
    parts.push_back(build.expand(build.iota(elementOf(indices), shape[d], d, rank), column));
  parts.push_back(indices);
  const Value positions = build.concat(parts, rank - 1);
  operands[0] = scatterNd(build, ScatterKind::add, zeros(build, typeOf(op.getData())), positions, results[0]);
  return success();
}

namespace {
/// What the gradients of both scatters are made of.
struct Scatter {
  TensorBuilder &build;
  llvm::function_ref<Value(Value data, Value updates)> overwrite;
  llvm::function_ref<Value(Value data)> gather;

  LogicalResult run(Operation *op, ScatterKind kind, Value data, Value updates, Value g, ArrayRef<bool> wanted,
                    Gradients operands) const {
    if (kind == ScatterKind::add) {
      if (wanted[0])
        operands[0] = g;
      if (wanted[2])
        operands[2] = gather(g);
      return success();
    }
    if (kind != ScatterKind::none)
      return sluice::refuseUnsupported(op) << "'" << stringifyScatterKind(kind) << "' has no gradient";
    if (wanted[0])
      operands[0] = overwrite(g, zeros(build, typeOf(updates)));
    if (wanted[2]) {
      // Of several updates of one element only the last was kept.
      Type index = build.mlir().getI64Type();
      ArrayRef<int64_t> shape = shapeOf(updates);
      Value position = build.reshape(build.iota(index, elementCount(updates.getType()), 0, 1), shape);
      Value last = overwrite(zeros(build, RankedTensorType::get(shapeOf(data), index)), position);
      Value kept = build.compare(ComparePredicate::eq, gather(last), position);
      const Value zero = number(build, g, 0);
      operands[2] = build.select(kept, gather(g), zero);
    }
    return success();
  }
};
} // namespace

static LogicalResult differentiateScatterElements(ScatterElementsOp op, TensorBuilder &build, ArrayRef<Value> results,
                                                  ArrayRef<bool> wanted, Gradients operands) {
  auto overwrite = [&](Value data, Value updates) {
    return scatterElements(build, ScatterKind::none, data, op.getIndices(), updates, op.getAxis());
  };
  auto gather = [&](Value data) {
    return build.create<GatherElementsOp>({data, op.getIndices()}, build.integer("axis", op.getAxis()));
  };
  return Scatter{build, overwrite, gather}.run(op, op.getKind(), op.getData(), op.getUpdates(), results[0], wanted,
                                               operands);
}

static LogicalResult differentiateScatterNd(ScatterNdOp op, TensorBuilder &build, ArrayRef<Value> results,
                                            ArrayRef<bool> wanted, Gradients operands) {
  auto overwrite = [&](Value data, Value updates) {
    return scatterNd(build, ScatterKind::none, data, op.getIndices(), updates);
  };
  auto gather = [&](Value data) {
    return build.create<GatherNdOp>({data, op.getIndices()}, build.integer("batch_dims", 0));
  };
  return Scatter{build, overwrite, gather}.run(op, op.getKind(), op.getData(), op.getUpdates(), results[0], wanted,
                                               operands);
}

void sluice::dataflow::attachMovementGradients(MLIRContext *context) {
  attach<GradientModel<differentiateTranspose>, GradientModel<differentiateReshape>, GradientModel<differentiateExpand>,
         GradientModel<differentiateTile>, GradientModel<differentiateSlice>, GradientModel<differentiateConcat>,
         GradientModel<differentiatePad>, GradientModel<differentiateGather>,
         GradientModel<differentiateGatherElements>, GradientModel<differentiateGatherNd>,
         GradientModel<differentiateScatterElements>, GradientModel<differentiateScatterNd>>(context);
}
