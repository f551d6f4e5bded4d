//===- Collective.cpp - What ranks do together ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

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
  if (counts.empty() || counts.size() > kMostAxes || counts.size() != strides.size())
    return emitError() << "a group has 1 to " << kMostAxes << " axes";
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
