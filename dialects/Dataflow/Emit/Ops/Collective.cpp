//===- Collective.cpp - Kernels of what ranks do together -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Collective.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "lib/Runtime/Collective.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static_assert(GroupAttr::kMostAxes == SLUICE_COLLECTIVE_AXES, "the runtime counts as many axes as the dialect");
static_assert(static_cast<int>(CollectiveKind::receive) == SLUICE_COLLECTIVE_RECEIVE &&
                  static_cast<int>(CombineKind::min) == SLUICE_REDUCTION_MIN,
              "collectives are numbered alike");

//===----------------------------------------------------------------------===//
// What the runtime is told
//===----------------------------------------------------------------------===//

static sluice_collective describeGroup(CollectiveOpInterface op) {
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

static void addUneven(sluice_uneven &what, UnevenAttr uneven) {
  if (!uneven)
    return;
  what.extent = uneven.getExtent();
  if (GroupAttr outside = uneven.getOutside())
    for (auto [count, stride] : llvm::zip(outside.getCounts(), outside.getStrides()))
      what.axes[what.num_axes++] = {count, stride};
}

static sluice_collective describe(AllReduceOp op) {
  sluice_collective what = describeGroup(op);
  combines(what, op.getReduction(), op.getType().getElementType());
  return what;
}
static sluice_collective describe(ReduceScatterOp op) {
  sluice_collective what = describeGroup(op);
  combines(what, op.getReduction(), op.getType().getElementType());
  splits(what, op.getType(), op.getDim());
  addUneven(what.split, op.getUnevenAttr());
  return what;
}
static sluice_collective describe(AllGatherOp op) {
  sluice_collective what = describeGroup(op);
  joins(what, typeOf(op.getInput()), op.getDim());
  addUneven(what.join, op.getUnevenAttr());
  return what;
}
static sluice_collective describe(AllToAllOp op) {
  sluice_collective what = describeGroup(op);
  if (op.getUnevenSplitAttr()) {
    addUneven(what.split, op.getUnevenSplitAttr());
    addUneven(what.join, op.getUnevenJoinAttr());
    const auto split = static_cast<int64_t>(op.getSplit()), join = static_cast<int64_t>(op.getJoin());
    const int64_t first = std::min(split, join), second = std::max(split, join);
    const RankedTensorType type = typeOf(op.getInput());
    const ArrayRef<int64_t> shape = type.getShape();
    what.before = product(shape.take_front(first));
    what.between = product(shape.slice(first + 1, second - first - 1));
    what.after = product(shape.drop_front(second + 1)) * elementBytes(type.getElementType());
    what.join_first = join < split;
    return what;
  }
  RankedTensorType chunk = *partType(typeOf(op.getInput()), op.getSplit(), op.getGroup().size());
  splits(what, chunk, op.getSplit());
  joins(what, chunk, op.getJoin());
  return what;
}
static sluice_collective describe(ShardOp op) {
  sluice_collective what = describeGroup(op);
  splits(what, op.getType(), op.getDim());
  addUneven(what.split, op.getUnevenAttr());
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

static sluice_collective describe(HaloOp op) {
  sluice_collective what = describeGroup(op);
  RankedTensorType type = typeOf(op.getInput());
  what.extent = type.getDimSize(op.getDim()), what.low = op.getLow(), what.high = op.getHigh();
  ArrayRef<int64_t> shape = type.getShape();
  what.split_outer = product(shape.take_front(op.getDim()));
  what.split_inner = product(shape.drop_front(op.getDim() + 1)) * elementBytes(type.getElementType());
  if (op.getLowest()) {
    what.fill = lowestBits(type.getElementType());
    what.fill_bytes = elementBytes(type.getElementType());
  }
  addUneven(what.split, op.getUnevenAttr());
  return what;
}

/// The message that two ranks exchange.
static sluice_collective describeMessage(Type type, int64_t peer) {
  sluice_collective what{};
  what.bytes = tensorBytes(type);
  what.peer = peer;
  return what;
}
static sluice_collective describe(SendOp op) { return describeMessage(op.getInput().getType(), op.getPeer()); }
static sluice_collective describe(ReceiveOp op) { return describeMessage(op.getType(), op.getPeer()); }

static sluice_collective describe(Operation *collective) {
  return llvm::TypeSwitch<Operation *, sluice_collective>(collective)
      .Case<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp, ShardOp, HaloOp, SendOp, ReceiveOp>(
          [](auto op) { return describe(op); });
}

static uint32_t kindOf(Operation *collective) {
  return static_cast<uint32_t>(cast<CollectiveOpInterface>(collective).getCollectiveKind());
}

FailureOr<int64_t> sluice::dataflow::bytesSent(Operation *collective, int64_t rank, int64_t numRanks) {
  const sluice_collective what = describe(collective);
  auto group = runtime::groupOf(kindOf(collective), what, static_cast<uint32_t>(rank), static_cast<uint32_t>(numRanks));
  if (!group)
    return collective->emitError(group.error());
  return runtime::bytesSent(kindOf(collective), what, *group);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

template <typename OpTy>
static void emitCollective(OpTy op, KernelEmitter &kernel) {
  const sluice_collective what = describe(op);
  kernel.callRuntime(KernelEmitter::Service::Ranks, kindOf(op), bytesOf(what));
}

namespace {
template <typename OpTy>
struct CollectiveCost : CostOpInterface::ExternalModel<CollectiveCost<OpTy>, OpTy> {
  int64_t getFlops(Operation *) const { return 0; }
  int64_t getBytesMoved(Operation *op) const {
    using dataflow::detail::totalBytes;
    return totalBytes(op->getOperandTypes()) + totalBytes(op->getResultTypes()) + getWorkspaceBytes(op);
  }
  int64_t getWorkspaceBytes(Operation *op) const {
    const GroupAttr group = cast<OpTy>(op).getRankGroup();
    return runtime::collectiveWorkspace(kindOf(op), describe(op), group ? static_cast<size_t>(group.size()) : 2);
  }
  StringRef getCostClass(Operation *) const { return "collective"; }
};
} // namespace

template <typename... Ops>
static void attachAll(MLIRContext *context) {
  attach<KernelModel<emitCollective<Ops>>..., CollectiveCost<Ops>...>(context);
}

void sluice::dataflow::attachCollectiveKernels(MLIRContext *context) {
  attachAll<AllReduceOp, ReduceScatterOp, AllGatherOp, AllToAllOp, ShardOp, HaloOp, SendOp, ReceiveOp>(context);
}
