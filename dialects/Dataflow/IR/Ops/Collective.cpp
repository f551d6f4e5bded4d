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
    return emitError() << "a group must have 1 to " << kMostAxes << " axes, each with a count and a stride";
  SmallVector<std::pair<int64_t, int64_t>> axes;
  for (auto [count, stride] : llvm::zip(counts, strides)) {
    if (count < 2 || stride < 1 || count > INT32_MAX || stride > INT32_MAX)
      return emitError() << "an axis must have at least two ranks and a stride of at least one, and has count " << count
                         << " and stride " << stride;
    axes.emplace_back(stride, count);
  }
  llvm::sort(axes);
  for (size_t i = 1; i < axes.size(); ++i)
    if (axes[i].first % (axes[i - 1].first * axes[i - 1].second) != 0)
      return emitError() << "axes " << axes[i - 1].second << ":" << axes[i - 1].first << " and " << axes[i].second
                         << ":" << axes[i].first << " (count:stride) cannot belong to one mesh";
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

LogicalResult UnevenAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t extent, GroupAttr) {
  if (extent < 1)
    return emitError() << "an uneven dimension must have at least one element, and has " << extent;
  return success();
}

int64_t UnevenAttr::partsOutside() const { return getOutside() ? getOutside().size() : 1; }

int64_t UnevenAttr::largest(int64_t parts) const { return largestPart(getExtent(), partsOutside() * parts); }

std::pair<int64_t, int64_t> UnevenAttr::elementsOf(int64_t rank, GroupAttr group) const {
  const int64_t members = group ? group.size() : 1, parts = partsOutside() * members;
  const int64_t part =
      (getOutside() ? getOutside().positionOf(rank) : 0) * members + (group ? group.positionOf(rank) : 0);
  return {partBegin(getExtent(), parts, part), partBegin(getExtent(), parts, part + 1)};
}

LogicalResult CutAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t, GroupAttr, int64_t blocks) {
  if (blocks < 1 || blocks > kMostBlocks)
    return emitError() << "a cut (the split of a tensor's dimension over ranks) must have 1 to " << kMostBlocks
                       << " blocks, and has " << blocks;
  return success();
}

namespace sluice::dataflow {

FailureOr<RankedTensorType> typeInBlocks(RankedTensorType type, int64_t dim, int64_t blocks) {
  SmallVector<int64_t> shape(type.getShape());
  if (dim < 0 || dim >= type.getRank() || shape[dim] % blocks != 0)
    return failure();
  shape[dim] /= blocks;
  shape.insert(shape.begin() + dim, blocks);
  return RankedTensorType::get(shape, type.getElementType());
}

FailureOr<RankedTensorType> partType(RankedTensorType whole, CutAttr cut) {
  const FailureOr<RankedTensorType> inBlocks = typeInBlocks(whole, cut.getDim(), cut.getBlocks());
  if (failed(inBlocks) || failed(partType(*inBlocks, cut.getDim() + 1, cut.getGroup().size())))
    return failure();
  return partType(whole, cut.getDim(), cut.getGroup().size());
}

void copyElements(TensorView whole, int64_t dim, int64_t begin, int64_t end, MutableTensorView result) {
  const ArrayRef<int64_t> from = whole.type.getShape(), to = result.type.getShape();
  const int64_t row = product(from.drop_front(dim + 1)) * elementBytes(whole.type.getElementType());
  for (int64_t outer = 0, count = product(from.take_front(dim)); outer < count; ++outer) {
    const char *source = whole.data + outer * from[dim] * row;
    char *target = result.data + outer * to[dim] * row;
    std::copy_n(source + begin * row, (end - begin) * row, target);
    for (int64_t at = end - begin; at < to[dim]; ++at)
      std::copy_n(source + (end - 1) * row, row, target + at * row);
  }
}

void copyPart(TensorView whole, int64_t dim, int64_t part, MutableTensorView result) {
  const int64_t extent = result.type.getShape()[dim];
  copyElements(whole, dim, part * extent, (part + 1) * extent, result);
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

static RankedTensorType withExtent(RankedTensorType type, int64_t dim, int64_t extent) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = extent;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Checks that a tensor has the largest of the parts of `parts` ranks.
static LogicalResult checkUneven(std::optional<Location> loc, RankedTensorType type, int64_t dim, UnevenAttr uneven,
                                 int64_t parts, int64_t members) {
  const int64_t all = uneven.partsOutside() * members;
  if (uneven.getExtent() < all)
    return emitOptionalError(loc, "has ", uneven.getExtent(), " elements in an uneven dimension for ", all,
                             " ranks, and each rank needs at least one");
  if (type.getDimSize(dim) != uneven.largest(parts))
    return emitOptionalError(loc, "has extent ", type.getDimSize(dim), " in dimension ", dim,
                             ", and must have the extent of the largest part, ", uneven.largest(parts));
  return success();
}

static FailureOr<RankedTensorType> inferPart(std::optional<Location> loc, RankedTensorType whole, int64_t dim,
                                             int64_t parts, UnevenAttr uneven) {
  if (failed(checkAxis(loc, dim, whole.getRank())))
    return failure();
  if (uneven) {
    if (failed(checkUneven(loc, whole, dim, uneven, 1, parts)))
      return failure();
    return withExtent(whole, dim, uneven.largest(parts));
  }
  FailureOr<RankedTensorType> part = partType(whole, dim, parts);
  if (failed(part))
    return emitOptionalError(loc, "extent ", whole.getDimSize(dim), " of dimension ", dim, " cannot be divided into ",
                             parts, " equal parts");
  return part;
}

static FailureOr<RankedTensorType> inferJoined(std::optional<Location> loc, RankedTensorType part, int64_t dim,
                                               int64_t parts, UnevenAttr uneven) {
  if (failed(checkAxis(loc, dim, part.getRank())))
    return failure();
  if (uneven) {
    if (failed(checkUneven(loc, part, dim, uneven, parts, parts)))
      return failure();
    return withExtent(part, dim, uneven.whole());
  }
  SmallVector<int64_t> shape(part.getShape());
  if (llvm::MulOverflow(shape[dim], parts, shape[dim]))
    return emitOptionalError(loc, "dimension ", dim, " is too large when its ", parts, " parts are joined");
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
  return returns(
      inferPart(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size(), adaptor.getUnevenAttr()),
      results);
}
LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  return returns(inferJoined(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size(),
                             adaptor.getUnevenAttr()),
                 results);
}
LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  const int64_t size = adaptor.getGroup().size();
  const UnevenAttr split = adaptor.getUnevenSplitAttr(), join = adaptor.getUnevenJoinAttr();
  if (!split != !join)
    return emitOptionalError(loc, "has only one of the attributes 'uneven_split' and 'uneven_join', give both or none");
  if (split && adaptor.getSplit() == adaptor.getJoin())
    return emitOptionalError(loc, "splits and joins the same uneven dimension, use different dimensions");
  FailureOr<RankedTensorType> part = inferPart(loc, typeOf(adaptor.getInput()), adaptor.getSplit(), size, split);
  return failed(part) ? failure() : returns(inferJoined(loc, *part, adaptor.getJoin(), size, join), results);
}
LogicalResult ShardOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  return returns(
      inferPart(loc, typeOf(adaptor.getInput()), adaptor.getDim(), adaptor.getGroup().size(), adaptor.getUnevenAttr()),
      results);
}
LogicalResult HaloOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  RankedTensorType type = typeOf(adaptor.getInput());
  const auto dim = static_cast<int64_t>(adaptor.getDim()), low = static_cast<int64_t>(adaptor.getLow()),
             high = static_cast<int64_t>(adaptor.getHigh());
  if (failed(checkAxis(loc, dim, type.getRank())))
    return failure();
  int64_t least = type.getDimSize(dim);
  if (UnevenAttr uneven = adaptor.getUnevenAttr()) {
    const int64_t size = adaptor.getGroup().size();
    if (uneven.getOutside())
      return emitOptionalError(
          loc,
          "exchanges elements between some of the ranks that split an uneven dimension, use the group of all ranks");
    if (failed(checkUneven(loc, type, dim, uneven, size, size)))
      return failure();
    least = uneven.getExtent() / size;
  }
  // Neighbours alone are asked.
  if (low < 0 || high < 0 || low > least || high > least)
    return emitOptionalError(loc, "needs ", low, " and ", high, " elements of its neighbours, which have only ", least,
                             " elements");
  results.push_back(withExtent(type, dim, type.getDimSize(dim) + low + high));
  return success();
}

static LogicalResult verifySize(Operation *op, GroupAttr group) {
  constexpr int64_t kMost = int64_t(1) << 20;
  if (group.size() > kMost)
    return op->emitOpError("runs on ") << group.size() << " ranks, at most " << kMost << " are allowed";
  return success();
}
LogicalResult SendOp::inferReturnTypes(MLIRContext *context, std::optional<Location>, Adaptor,
                                       SmallVectorImpl<Type> &results) {
  results.push_back(RankedTensorType::get({}, IntegerType::get(context, 8)));
  return success();
}

static LogicalResult verifyPeer(Operation *op, int64_t peer) {
  constexpr int64_t kMost = int64_t(1) << 20;
  if (peer < 0 || peer >= kMost)
    return op->emitOpError("has the peer rank ") << peer << ", which is out of range, give one from 0 to " << kMost - 1;
  return success();
}
LogicalResult SendOp::verify() { return verifyPeer(*this, getPeer()); }
LogicalResult ReceiveOp::verify() { return verifyPeer(*this, getPeer()); }

LogicalResult AllReduceOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult ReduceScatterOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult AllGatherOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult AllToAllOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult ShardOp::verify() { return verifySize(*this, getGroup()); }
LogicalResult HaloOp::verify() { return verifySize(*this, getGroup()); }
