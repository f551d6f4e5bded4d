//===- ExportMovement.cpp - Shapes, orders, indices to ONNX ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include "dialects/Dataflow/IR/ExtentBounds.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::rankOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

bool areConstant(ArrayRef<Extent> extents) {
  return llvm::all_of(extents, [](const Extent &extent) { return extent.isConstant(); });
}

LogicalResult transpose(TransposeOp op, NodeWriter &writer) {
  writer.node("Transpose", writer.operands()).set("perm", op.getPermutation());
  return success();
}

LogicalResult reshape(ReshapeOp op, NodeWriter &writer) {
  const Extents dims = extentsOf(op.getResult());
  Node node = writer.node("Reshape", {writer.name(op.getInput()), writer.extents("shape", dims)});
  if (llvm::any_of(dims, mayBeZero))
    node.set("allowzero", int64_t(1));
  return success();
}

LogicalResult expand(ExpandOp op, NodeWriter &writer) {
  writer.node("Expand", {writer.name(op.getInput()), writer.extents("shape", extentsOf(op.getResult()))});
  return success();
}

LogicalResult tile(TileOp op, NodeWriter &writer) {
  Extents repeats;
  for (auto [from, to] : llvm::zip(extentsOf(op.getInput()), extentsOf(op.getResult())))
    if (from == to)
      repeats.push_back(1);
    else if (from.isConstant())
      repeats.push_back(from.is(0) ? Extent(1) : to / from.most());
    else if (const int64_t times = from.most() == 0 ? 1 : to.most() / from.most(); isSameExtent(from * times, to))
      repeats.push_back(times);
    else
      return writer.refuse("the number of repetitions is neither a constant nor an extent divided by a constant");
  writer.node("Tile", {writer.name(op.getInput()), writer.extents("repeats", repeats)});
  return success();
}

LogicalResult slice(SliceOp op, NodeWriter &writer) {
  const Extents from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  SmallVector<int64_t> starts, axes, steps;
  Extents ends;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    int64_t start = op.getStarts()[axis], step = op.getSteps()[axis];
    if (start == 0 && step == 1 && to[axis] == from[axis])
      continue;
    starts.push_back(start);
    if (areConstant({from[axis], to[axis]})) {
      // Where a walk backwards takes the first element, its end lies before it: -1 would be the last.
      const int64_t count = to[axis].most();
      int64_t end = count == 0 ? start : start + (count - 1) * step + (step > 0 ? 1 : -1);
      ends.push_back(end < 0 ? end - from[axis].most() : end);
    } else if (step > 0) {
      // Behind the end of the operand is its end.
      ends.push_back(to[axis] * step + start);
    } else {
      return writer.refuse("it slices backwards along an extent that is known only when the model runs");
    }
    axes.push_back(static_cast<int64_t>(axis));
    steps.push_back(step);
  }
  std::vector<std::string> inputs{writer.name(op.getInput()), writer.integers("starts", starts),
                                  writer.extents("ends", ends), writer.integers("axes", axes)};
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
  Extents pads(op.getLow().begin(), op.getLow().end());
  for (auto [low, from, to] : llvm::zip(op.getLow(), extentsOf(op.getInput()), extentsOf(op.getResult())))
    pads.push_back(to - from - low);
  writer
      .node("Pad", {writer.name(op.getInput()), writer.extents("pads", pads), writer.name(op.getValue())},
            op.getMode() == PadMode::wrap ? 19 : kExportOpset)
      .set("mode", stringifyPadMode(op.getMode()));
  return success();
}

template <typename OpTy>
LogicalResult gatherAlong(OpTy op, NodeWriter &writer) {
  auto operands = writer.operands();
  if (getElementTypeOrSelf(op.getIndices()).isInteger(8)) {
    const int32_t index = elementTypeToOnnx(IntegerType::get(op.getContext(), 64));
    operands[1] = writer.step("Cast", {operands[1]}).set("to", int64_t(index)).output();
  }
  writer.node(std::is_same_v<OpTy, GatherOp> ? "Gather" : "GatherElements", operands)
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
    return writer.refuse("it inserts along the batch dimension, or the batch has more than one element");
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

/// One whose length or start a step gives ends at start + length * delta.
LogicalResult rangeOfStep(RangeOp op, const Extent &count, NodeWriter &writer) {
  if (!isa<IntegerType>(elementTypeOf(op.getResult())))
    return writer.refuse("its length is known only when the model runs, and its elements are not integers");
  // A delta of 0 is an error in ONNX, of a range without elements too.
  if (auto delta = getIntegers(op.getDelta()); !delta || delta->front() == 0)
    return writer.refuse("its delta is not a known nonzero constant");
  std::string length = writer.step("Squeeze", {writer.extents("count", {count})}).output();
  if (Type type = elementTypeOf(op.getResult()); !type.isSignlessInteger(64)) {
    Node cast = writer.step("Cast", {length});
    cast.set("to", elementTypeToOnnx(type));
    length = cast.output();
  }
  const std::string start = writer.name(op.getStart()), delta = writer.name(op.getDelta());
  const std::string walked = writer.step("Mul", {length, delta}).output();
  writer.node("Range", {start, writer.step("Add", {start, walked}).output(), delta});
  return success();
}

/// ONNX says where a range ends, we how long it is. Half a step behind the last element is safe from rounding.
LogicalResult range(RangeOp op, NodeWriter &writer) {
  const Extent extent = extentsOf(op.getResult())[0];
  if (!extent.isConstant())
    return rangeOfStep(op, extent, writer);
  int64_t count = extent.most();
  Type type = elementTypeOf(op.getResult());
  std::string limit;
  if (isa<IntegerType>(type)) {
    auto start = getIntegers(op.getStart()), delta = getIntegers(op.getDelta());
    int64_t walked, last;
    if (!start && delta && op.getStart().getDefiningOp<ExtentsOp>())
      return rangeOfStep(op, extent, writer);
    if (!start || !delta)
      return writer.refuse("its start and delta are not known constants");
    if (delta->front() == 0 || llvm::MulOverflow(count - 1, delta->front(), walked) ||
        llvm::AddOverflow(start->front(), walked, last) ||
        llvm::AddOverflow(last, delta->front() > 0 ? int64_t(1) : int64_t(-1), last))
      return writer.refuse("its limit does not fit 64 bits");
    if (count == 0)
      last = start->front();
    int64_t width = type.getIntOrFloatBitWidth();
    bool fits = type.isUnsignedInteger() ? last >= 0 && llvm::isUIntN(width, last) : llvm::isIntN(width, last);
    if (!fits || std::abs(static_cast<double>(last)) > 9e15)
      return writer.refuse("its limit does not fit the type of its elements");
    limit = writer.scalar("limit", type, static_cast<double>(last));
  } else {
    std::optional<double> start = getSplat(op.getStart()), delta = getSplat(op.getDelta());
    if (!start || !delta)
      return writer.refuse("its start and delta are not known constants");
    double last = *start + (static_cast<double>(count) - 0.5) * *delta;
    double rounded = type.isF64() ? last : static_cast<float>(last);
    if (std::max(0.0, std::ceil((rounded - *start) / *delta)) != static_cast<double>(count))
      return writer.refuse("no value of 'limit' gives the same number of elements after rounding");
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
