//===- ExportMovement.cpp - Shapes, orders, indices to ONNX ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::rankOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

LogicalResult transpose(TransposeOp op, NodeWriter &writer) {
  writer.node("Transpose", writer.operands()).set("perm", op.getPermutation());
  return success();
}

LogicalResult reshape(ReshapeOp op, NodeWriter &writer) {
  ArrayRef<int64_t> dims = shapeOf(op.getResult());
  Node node = writer.node("Reshape", {writer.name(op.getInput()), writer.integers("shape", dims)});
  if (llvm::is_contained(dims, 0))
    node.set("allowzero", int64_t(1));
  return success();
}

LogicalResult expand(ExpandOp op, NodeWriter &writer) {
  writer.node("Expand", {writer.name(op.getInput()), writer.integers("shape", shapeOf(op.getResult()))});
  return success();
}

LogicalResult tile(TileOp op, NodeWriter &writer) {
  SmallVector<int64_t> repeats;
  for (auto [from, to] : llvm::zip(shapeOf(op.getInput()), shapeOf(op.getResult())))
    repeats.push_back(from == 0 ? 1 : to / from);
  writer.node("Tile", {writer.name(op.getInput()), writer.integers("repeats", repeats)});
  return success();
}

LogicalResult slice(SliceOp op, NodeWriter &writer) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  SmallVector<int64_t> starts, ends, axes, steps;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    int64_t start = op.getStarts()[axis], step = op.getSteps()[axis];
    if (start == 0 && step == 1 && to[axis] == from[axis])
      continue;
    // Where a walk backwards takes the first element, its end lies before it: -1 would be the last.
    int64_t end = to[axis] == 0 ? start : start + (to[axis] - 1) * step + (step > 0 ? 1 : -1);
    starts.push_back(start);
    ends.push_back(end < 0 ? end - from[axis] : end);
    axes.push_back(static_cast<int64_t>(axis));
    steps.push_back(step);
  }
  std::vector<std::string> inputs{writer.name(op.getInput()), writer.integers("starts", starts),
                                  writer.integers("ends", ends), writer.integers("axes", axes)};
  if (llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    inputs.push_back(writer.integers("steps", steps));
  writer.node("Slice", inputs);
  return success();
}

LogicalResult concat(ConcatOp op, NodeWriter &writer) {
  writer.node("Concat", writer.operands()).set("axis", static_cast<int64_t>(op.getAxis()));
  return success();
}

LogicalResult pad(PadOp op, NodeWriter &writer) {
  SmallVector<int64_t> pads(op.getLow());
  for (auto [low, from, to] : llvm::zip(op.getLow(), shapeOf(op.getInput()), shapeOf(op.getResult())))
    pads.push_back(to - from - low);
  writer
      .node("Pad", {writer.name(op.getInput()), writer.integers("pads", pads), writer.name(op.getValue())},
            op.getMode() == PadMode::wrap ? 19 : kExportOpset)
      .set("mode", stringifyPadMode(op.getMode()));
  return success();
}

template <typename OpTy>
LogicalResult gatherAlong(OpTy op, NodeWriter &writer) {
  writer.node(std::is_same_v<OpTy, GatherOp> ? "Gather" : "GatherElements", writer.operands())
      .set("axis", static_cast<int64_t>(op.getAxis()));
  return success();
}

LogicalResult gatherNd(GatherNdOp op, NodeWriter &writer) {
  writer.node("GatherND", writer.operands()).set("batch_dims", static_cast<int64_t>(op.getBatchDims()));
  return success();
}

/// Scattering the greatest and the least came later.
int64_t scatterSince(ScatterKind kind) {
  return kind == ScatterKind::max || kind == ScatterKind::min ? 18 : kExportOpset;
}

LogicalResult scatterElements(ScatterElementsOp op, NodeWriter &writer) {
  writer.node("ScatterElements", writer.operands(), scatterSince(op.getKind()))
      .set("axis", static_cast<int64_t>(op.getAxis()))
      .set("reduction", stringifyScatterKind(op.getKind()));
  return success();
}

LogicalResult scatterNd(ScatterNdOp op, NodeWriter &writer) {
  writer.node("ScatterND", writer.operands(), scatterSince(op.getKind()))
      .set("reduction", stringifyScatterKind(op.getKind()));
  return success();
}

LogicalResult insert(InsertOp op, NodeWriter &writer) {
  constexpr int64_t kSince = 24;
  if (op.getDim() == 0 || shapeOf(op.getInto())[0] != 1)
    return writer.refuse("it inserts into a batch of several, or along the batch");
  Node start = writer.step("Reshape", {writer.name(op.getStart()), writer.integers("one", {1})}, kSince);
  if (elementTypeOf(op.getStart()).isInteger(32)) {
    start = writer.step("Cast", {start.output()}, kSince);
    start.set("to", static_cast<int64_t>(::onnx::TensorProto::INT64));
  }
  writer.node("TensorScatter", {writer.name(op.getInto()), writer.name(op.getPart()), start.output()}, kSince)
      .set("axis", static_cast<int64_t>(op.getDim()));
  return success();
}

LogicalResult oneHot(OneHotOp op, NodeWriter &writer) {
  writer
      .node("OneHot",
            {writer.name(op.getIndices()), writer.integer("depth", op.getDepth()), writer.name(op.getValues())})
      .set("axis", static_cast<int64_t>(op.getAxis()));
  return success();
}

/// ONNX says where a range ends, we how long it is. Half a step behind the last element is safe from rounding.
LogicalResult range(RangeOp op, NodeWriter &writer) {
  int64_t count = shapeOf(op.getResult())[0];
  Type type = elementTypeOf(op.getResult());
  std::string limit;
  if (isa<IntegerType>(type)) {
    auto start = getIntegers(op.getStart()), delta = getIntegers(op.getDelta());
    int64_t walked, last;
    if (!start || !delta)
      return writer.refuse("its start and delta are not known");
    if (delta->front() == 0 || llvm::MulOverflow(count - 1, delta->front(), walked) ||
        llvm::AddOverflow(start->front(), walked, last) ||
        llvm::AddOverflow(last, delta->front() > 0 ? int64_t(1) : int64_t(-1), last))
      return writer.refuse("its end is out of range");
    if (count == 0)
      last = start->front();
    int64_t width = type.getIntOrFloatBitWidth();
    bool fits = type.isUnsignedInteger() ? last >= 0 && llvm::isUIntN(width, last) : llvm::isIntN(width, last);
    if (!fits || std::abs(static_cast<double>(last)) > 9e15)
      return writer.refuse("its end is out of its type's range");
    limit = writer.scalar("limit", type, static_cast<double>(last));
  } else {
    std::optional<double> start = getSplat(op.getStart()), delta = getSplat(op.getDelta());
    if (!start || !delta)
      return writer.refuse("its start and delta are not known");
    double last = *start + (static_cast<double>(count) - 0.5) * *delta;
    double rounded = type.isF64() ? last : static_cast<float>(last);
    if (std::max(0.0, std::ceil((rounded - *start) / *delta)) != static_cast<double>(count))
      return writer.refuse("its end cannot be told from its elements");
    limit = writer.scalar("limit", type, last);
  }
  writer.node("Range", {writer.name(op.getStart()), limit, writer.name(op.getDelta())});
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<TransposeOp, transpose>(),
    exports<ReshapeOp, reshape>(),
    exports<ExpandOp, expand>(),
    exports<TileOp, tile>(),
    exports<SliceOp, slice>(),
    exports<ConcatOp, concat>(),
    exports<PadOp, pad>(),
    exports<GatherOp, gatherAlong<GatherOp>>(),
    exports<GatherElementsOp, gatherAlong<GatherElementsOp>>(),
    exports<GatherNdOp, gatherNd>(),
    exports<ScatterElementsOp, scatterElements>(),
    exports<ScatterNdOp, scatterNd>(),
    exports<InsertOp, insert>(),
    exports<OneHotOp, oneHot>(),
    exports<RangeOp, range>(),
};

} // namespace

ArrayRef<ExportEntry> movementExports() { return kExports; }

} // namespace sluice::onnxexport
