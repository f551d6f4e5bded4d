//===- Collective.cpp - What ranks do together ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "lib/Runtime/Collective.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> counts,
                                ArrayRef<int64_t> strides) {
  if (counts.empty() || counts.size() > SLUICE_COLLECTIVE_AXES || counts.size() != strides.size())
    return emitError() << "a group has 1 to " << SLUICE_COLLECTIVE_AXES << " axes";
  SmallVector<std::pair<int64_t, int64_t>> axes;
  for (auto [count, stride] : llvm::zip(counts, strides)) {
    if (count < 2 || stride < 1 || count > INT32_MAX || stride > INT32_MAX)
      return emitError() << "an axis has at least two ranks and a stride of at least one, got " << count << ":"
                         << stride;
    axes.emplace_back(stride, count);
  }
  llvm::sort(axes);
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i].first % (axes[i - 1].first * axes[i - 1].second) != 0)
      return emitError() << "axes " << axes[i - 1].second << ":" << axes[i - 1].first << " and " << axes[i].second
                         << ":" << axes[i].first << " are not of one mesh";
  return success();
}

void GroupAttr::print(AsmPrinter &printer) const {
  printer << "[";
  llvm::interleaveComma(llvm::zip(getCounts(), getStrides()), printer,
                        [&](auto axis) { printer << std::get<0>(axis) << ":" << std::get<1>(axis); });
  printer << "]";
}

int64_t GroupAttr::size() const { return product(getCounts()); }

int64_t GroupAttr::positionOf(int64_t rank) const {
  int64_t position = 0;
  for (auto [count, stride] : llvm::zip(getCounts(), getStrides()))
    position = position * count + rank / stride % count;
  return position;
}

namespace sluice::dataflow {

void copyPart(TensorView whole, int64_t dim, int64_t part, MutableTensorView result) {
  ArrayRef<int64_t> shape = result.type.getShape();
  SmallVector<int64_t> strides = rowMajorStrides(whole.type.getShape());
  stridedCopy(whole.data, result.data, shape, strides, part * shape[dim] * strides[dim],
              elementBytes(whole.type.getElementType()));
}

FailureOr<RankedTensorType> partType(RankedTensorType whole, int64_t dim, int64_t parts) {
  SmallVector<int64_t> shape(whole.getShape());
  if (dim < 0 || dim >= whole.getRank() || shape[dim] % parts != 0)
    return failure();
  shape[dim] /= parts;
  return RankedTensorType::get(shape, whole.getElementType());
}

bool communicates(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective && collective.getCollectiveKind() != CollectiveKind::shard;
}

FailureOr<int64_t> bytesSent(Operation *collective, int64_t rank, int64_t numRanks) {
  auto op = cast<CollectiveOpInterface>(collective);
  const sluice_collective what = op.getCollective();
  auto group = runtime::groupOf(what, static_cast<uint32_t>(rank), static_cast<uint32_t>(numRanks));
  if (!group)
    return op.emitError(group.error());
  return runtime::bytesSent(static_cast<uint32_t>(op.getCollectiveKind()), what, *group);
}

int64_t detail::collectiveWorkspace(Operation *collective) {
  auto op = cast<CollectiveOpInterface>(collective);
  return runtime::collectiveWorkspace(static_cast<uint32_t>(op.getCollectiveKind()), op.getCollective(),
                                      static_cast<size_t>(op.getRankGroup().size()));
}

void detail::emitCollectiveKernel(Operation *collective, KernelEmitter &kernel) {
  auto op = cast<CollectiveOpInterface>(collective);
  const sluice_collective what = op.getCollective();
  kernel.callRuntime(KernelEmitter::Service::Ranks, static_cast<uint32_t>(op.getCollectiveKind()),
                     {reinterpret_cast<const char *>(&what), sizeof what});
}

} // namespace sluice::dataflow

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static FailureOr<RankedTensorType> inferPart(std::optional<Location> loc, RankedTensorType whole, int64_t dim,
                                             int64_t parts) {
  if (failed(checkAxis(loc, dim, whole.getRank())))
    return failure();
  FailureOr<RankedTensorType> part = partType(whole, dim, parts);
  if (failed(part))
    return emitOptionalError(loc, "extent ", whole.getDimSize(dim), " of dimension ", dim, " has no ", parts,
                             " equal parts");
  return part;
}

static FailureOr<RankedTensorType> inferJoined(std::optional<Location> loc, RankedTensorType part, int64_t dim,
                                               int64_t parts) {
  if (failed(checkAxis(loc, dim, part.getRank())))
    return failure();
  SmallVector<int64_t> shape(part.getShape());
  if (llvm::MulOverflow(shape[dim], parts, shape[dim]))
    return emitOptionalError(loc, "dimension ", dim, " of ", parts, " parts is too large");
  return RankedTensorType::get(shape, part.getElementType());
}

static LogicalResult returns(FailureOr<RankedTensorType> type, SmallVectorImpl<Type> &results) {
  if (succeeded(type))
    results.push_back(*type);
  return type;
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  results.push_back(adaptor.getInput().getType());
  return success();
}
LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &results) {
  return returns(inferPart(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size()), results);
}
LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return returns(inferJoined(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size()), results);
}
LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  const int64_t size = adaptor.getGroup().size();
  FailureOr<RankedTensorType> part = inferPart(loc, typeOf(adaptor.getInput()), adaptor.getSplit(), size);
  return failed(part) ? failure() : returns(inferJoined(loc, *part, adaptor.getJoin(), size), results);
}
LogicalResult ShardOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  return returns(inferPart(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size()), results);
}
LogicalResult HaloOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  RankedTensorType type = typeOf(adaptor.getInput());
  const auto dim = static_cast<int64_t>(adaptor.getDim()), low = static_cast<int64_t>(adaptor.getLow()),
             high = static_cast<int64_t>(adaptor.getHigh());
  if (failed(checkAxis(loc, dim, type.getRank())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  // Neighbours alone are asked.
  if (low < 0 || high < 0 || low > shape[dim] || high > shape[dim])
    return emitOptionalError(loc, "takes ", low, " and ", high, " elements of neighbours that have ", shape[dim]);
  shape[dim] += low + high;
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

static LogicalResult verifySize(Operation *op, GroupAttr group) {
  constexpr int64_t kMost = int64_t(1) << 20;
  if (group.size() > kMost)
    return op->emitOpError("runs on ") << group.size() << " ranks, " << kMost << " are the most";
  return success();
}
LogicalResult AllReduceOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult ReduceScatterOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult AllGatherOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult AllToAllOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult ShardOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult HaloOp::verify() { return verifySize(*this, getGroup()); }

//===----------------------------------------------------------------------===//
// What the runtime is told
//===----------------------------------------------------------------------===//

static sluice_collective describe(CollectiveOpInterface op) {
  sluice_collective what{};
  what.bytes = tensorBytes(op->getOperand(0).getType());
  GroupAttr group = op.getRankGroup();
  what.num_axes = static_cast<int64_t>(group.getCounts().size());
  for (auto [axis, count, stride] : llvm::zip(what.axes, group.getCounts(), group.getStrides()))
    axis = {count, stride};
  return what;
}

/// Of the types that the verifier lets through, by ONNX's numbers.
static void combines(sluice_collective &what, CombineKind reduction, Type element) {
  what.reduction = static_cast<int64_t>(reduction);
  what.element_type = element.isF32() ? 1 : element.isF64() ? 11 : element.isInteger(32) ? 6 : 7;
}

/// Bytes before and from a dimension on, of a part.
static std::pair<int64_t, int64_t> around(RankedTensorType part, int64_t dim) {
  ArrayRef<int64_t> shape = part.getShape();
  return {product(shape.take_front(dim)), product(shape.drop_front(dim)) * elementBytes(part.getElementType())};
}
static void splits(sluice_collective &what, RankedTensorType part, int64_t dim) {
  std::tie(what.split_outer, what.split_inner) = around(part, dim);
}
static void joins(sluice_collective &what, RankedTensorType part, int64_t dim) {
  std::tie(what.join_outer, what.join_inner) = around(part, dim);
}

sluice_collective AllReduceOp::getCollective() {
  sluice_collective what = describe(*this);
  combines(what, getReduction(), getType().getElementType());
  return what;
}
sluice_collective ReduceScatterOp::getCollective() {
  sluice_collective what = describe(*this);
  combines(what, getReduction(), getType().getElementType());
  splits(what, getType(), getDim());
  return what;
}
sluice_collective AllGatherOp::getCollective() {
  sluice_collective what = describe(*this);
  joins(what, typeOf(getInput()), getDim());
  return what;
}
sluice_collective AllToAllOp::getCollective() {
  sluice_collective what = describe(*this);
  RankedTensorType chunk = *partType(typeOf(getInput()), getSplit(), getGroup().size());
  splits(what, chunk, getSplit());
  joins(what, chunk, getJoin());
  return what;
}
sluice_collective ShardOp::getCollective() {
  sluice_collective what = describe(*this);
  splits(what, getType(), getDim());
  return what;
}
/// -infinity's or the least value's bits, in the element's first bytes.
static int64_t lowestBits(Type element) {
  auto type = dyn_cast<FloatType>(element);
  if (!type) {
    const unsigned width = element.getIntOrFloatBitWidth();
    APInt least = isUnsignedElement(element) ? APInt::getZero(width) : APInt::getSignedMinValue(width);
    return least.sextOrTrunc(64).getSExtValue();
  }
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  const bool hasInfinity = APFloat::semanticsHasInf(semantics);
  APFloat least = hasInfinity ? APFloat::getInf(semantics, /*Negative=*/true)
                              : APFloat::getLargest(semantics, /*Negative=*/APFloat::semanticsHasSignedRepr(semantics));
  return static_cast<int64_t>(least.bitcastToAPInt().getZExtValue());
}

sluice_collective HaloOp::getCollective() {
  sluice_collective what = describe(*this);
  RankedTensorType type = typeOf(getInput());
  what.extent = type.getDimSize(getDim()), what.low = getLow(), what.high = getHigh();
  ArrayRef<int64_t> shape = type.getShape();
  what.split_outer = product(shape.take_front(getDim()));
  what.split_inner = product(shape.drop_front(getDim() + 1)) * elementBytes(type.getElementType());
  if (getLowest()) {
    what.fill = lowestBits(type.getElementType());
    what.fill_bytes = elementBytes(type.getElementType());
  }
  return what;
}

//===----------------------------------------------------------------------===//
// Parts of constants
//===----------------------------------------------------------------------===//

LogicalResult ShardOp::evaluate(ArrayRef<TensorView>, ArrayRef<MutableTensorView>) {
  return failure(); // Each rank has another value.
}

LogicalResult ShardOp::evaluateOnRank(int64_t rank, ArrayRef<TensorView> operands,
                                      ArrayRef<MutableTensorView> results) {
  copyPart(operands[0], getDim(), getGroup().positionOf(rank), results[0]);
  return success();
}
