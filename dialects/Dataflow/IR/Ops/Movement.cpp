//===- Movement.cpp - transpose, reshape, expand, tile, slice, concat, pad ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult verifySameElement(Operation *op, Value a, Value c) {
  if (typeOf(a).getElementType() != typeOf(c).getElementType())
    return op->emitOpError("changes the element type, from ")
           << typeOf(a).getElementType() << " to " << typeOf(c).getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  auto type = typeOf(adaptor.getInput());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<bool> seen(type.getRank());
  if (static_cast<int64_t>(permutation.size()) != type.getRank())
    return emitOptionalError(loc, "permutation has ", permutation.size(), " entries, and the input has rank ",
                             type.getRank());
  for (int64_t from : permutation) {
    if (from < 0 || from >= type.getRank() || seen[from])
      return emitOptionalError(loc, "'permutation' is not a permutation of 0..", type.getRank() - 1);
    seen[from] = true;
  }
  results.push_back(RankedTensorType::get(permuted(type.getShape(), permutation), type.getElementType()));
  return success();
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getPermutation().size())))
    return getInput();
  return {};
}

namespace {
/// transpose(transpose(x)) is one transpose.
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<TransposeOp>();
    if (!producer)
      return failure();
    rewriter.replaceOpWithNewOp<TransposeOp>(op, producer.getInput(),
                                             permuted(producer.getPermutation(), op.getPermutation()));
    return success();
  }
};

/// A transpose that only moves extents of 1 keeps the data as it is.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getInput());
    int64_t last = -1;
    for (int64_t from : op.getPermutation()) {
      if (shape[from] == 1)
        continue;
      if (from < last)
        return failure();
      last = from;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

/// Dimensions of two shapes with the same elements. On one side it is one dimension at most; each that is not 1 is part
/// of one group.
struct DimensionGroup {
  SmallVector<int64_t, 2> from, to;
};

/// The groups of a reshape that splits and joins dimensions; nullopt where it does both to one.
std::optional<SmallVector<DimensionGroup>> groupsOf(ArrayRef<Extent> from, ArrayRef<Extent> to) {
  SmallVector<DimensionGroup> groups;
  Extent fromProduct = 1, toProduct = 1;
  size_t i = 0, j = 0;
  bool isOpen = false;
  auto take = [&](ArrayRef<Extent> extents, size_t &next, Extent &product, bool isFrom) {
    if (!isOpen)
      groups.emplace_back();
    isOpen = true;
    (isFrom ? groups.back().from : groups.back().to).push_back(static_cast<int64_t>(next));
    product = product * extents[next++];
  };
  while (true) {
    while (i < from.size() && from[i].is(1))
      ++i;
    while (j < to.size() && to[j].is(1))
      ++j;
    if (isOpen && fromProduct == toProduct) {
      if (groups.back().from.size() > 1 && groups.back().to.size() > 1)
        return std::nullopt;
      isOpen = false;
      fromProduct = toProduct = 1;
    }
    if (i == from.size() && j == to.size())
      return isOpen ? std::nullopt : std::optional(std::move(groups));
    const bool isFrom = !isOpen || fromProduct.most() < toProduct.most();
    if (isFrom ? i == from.size() : j == to.size())
      return std::nullopt;
    if (isFrom)
      take(from, i, fromProduct, true);
    else
      take(to, j, toProduct, false);
  }
}

/// transpose(reshape(transpose(x))) is reshape(transpose(reshape(x))) if the reshape between them splits and joins
/// dimensions, as between the groups of a channel shuffle.
struct MergeTransposesAroundReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
    auto producer = reshape ? reshape.getInput().getDefiningOp<TransposeOp>() : TransposeOp();
    if (!producer)
      return failure();
    const Extents from = extentsOf(reshape.getInput()), to = extentsOf(reshape.getResult());
    const auto groups = groupsOf(from, to);
    if (!groups)
      return failure();
    // The parts of x's dimensions, by the dimension of the first transpose's result that they are and that of the
    // reshape's result that they become.
    struct Part {
      Extent extent;
      int64_t becomes;
    };
    SmallVector<SmallVector<Part>> parts(from.size());
    for (const DimensionGroup &group : *groups)
      if (group.from.size() == 1)
        for (int64_t dim : group.to)
          parts[group.from[0]].push_back({to[dim], dim});
      else
        for (int64_t dim : group.from)
          parts[dim].push_back({from[dim], group.to[0]});
    // As x has them, and where each is there.
    Extents split;
    SmallVector<int64_t> firstOf(from.size());
    const SmallVector<int64_t> order(producer.getPermutation());
    for (int64_t xDim = 0; xDim < static_cast<int64_t>(order.size()); ++xDim) {
      const int64_t dim = llvm::find(order, xDim) - order.begin();
      firstOf[dim] = static_cast<int64_t>(split.size());
      for (const Part &part : parts[dim])
        split.push_back(part.extent);
    }
    SmallVector<int64_t> permutation;
    for (int64_t becomes : op.getPermutation())
      for (auto [dim, ofDim] : llvm::enumerate(parts))
        for (auto [index, part] : llvm::enumerate(ofDim))
          if (part.becomes == becomes)
            permutation.push_back(firstOf[dim] + static_cast<int64_t>(index));
    const Type element = typeOf(op.getInput()).getElementType();
    Value x = rewriter.createOrFold<ReshapeOp>(op.getLoc(), tensorOf(split, element), producer.getInput());
    Value moved = rewriter.createOrFold<TransposeOp>(op.getLoc(), x, permutation);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), moved);
    return success();
  }
};
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, MergeTransposesAroundReshape, TransposeToReshape>(context);
}

int64_t TransposeOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())))
    return failure();
  if (elementCount(getInput().getType()) != elementCount(getType()))
    return emitOpError("has ") << elementCount(getInput().getType()).value() << " elements in the input and "
                               << elementCount(getType()).value() << " in the result";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  if (auto producer = getInput().getDefiningOp<ReshapeOp>()) {
    if (producer.getInput().getType() == getType())
      return producer.getInput();
    getInputMutable().assign(producer.getInput());
    return getResult();
  }
  return {};
}

int64_t ReshapeOp::getFlops() { return 0; }
int64_t ReshapeOp::getBytesMoved() { return 0; }

//===----------------------------------------------------------------------===//
// expand, tile
//===----------------------------------------------------------------------===//

LogicalResult ExpandOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())))
    return failure();
  auto shape = broadcastShapes({shapeOf(getInput()), shapeOf(getResult())});
  if (failed(shape) || ArrayRef(*shape) != shapeOf(getResult()))
    return emitOpError("input does not broadcast to the shape of the result");
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

int64_t ExpandOp::getFlops() { return 0; }

LogicalResult TileOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())))
    return failure();
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.size() != to.size())
    return emitOpError("changes the rank");
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] == 0 ? to[i] != 0 : to[i] % from[i] != 0)
      return emitOpError("extent ") << to[i] << " of dimension " << i << " is not a multiple of the input's extent "
                                    << from[i];
  return success();
}

int64_t TileOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())))
    return failure();
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.size() != to.size() || getStarts().size() != from.size() || getSteps().size() != from.size())
    return emitOpError("starts, steps, input and result differ in rank");
  for (size_t i = 0; i < from.size(); ++i) {
    if (getSteps()[i] == 0)
      return emitOpError("step of dimension ") << i << " is 0";
    if (to[i] == 0)
      continue;
    // Extents are below 2^31 in practice; 128 bits keep hostile ones honest.
    __int128 last = static_cast<__int128>(to[i] - 1) * getSteps()[i] + getStarts()[i];
    if (getStarts()[i] < 0 || getStarts()[i] >= from[i] || last < 0 || last >= from[i])
      return emitOpError("reads outside dimension ") << i << " of extent " << from[i];
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getInput().getType() == getType() && llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  return whole ? OpFoldResult(getInput()) : OpFoldResult();
}

int64_t SliceOp::getFlops() { return 0; }
int64_t SliceOp::getBytesMoved() { return 2 * tensorBytes(getType()); }

FailureOr<Operation *> SliceOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  auto type = permutedType(getType(), permutation);
  return SliceOp::create(builder, getLoc(), type, operands[0], permuted(getStarts(), permutation),
                         permuted(getSteps(), permutation))
      .getOperation();
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "concat needs at least one operand");
  auto first = typeOf(adaptor.getInputs().front());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(loc, "axis ", axis, " is outside rank ", first.getRank());
  SmallVector<int64_t> shape(first.getShape());
  for (Value input : adaptor.getInputs().drop_front()) {
    auto type = typeOf(input);
    if (type.getRank() != first.getRank() || type.getElementType() != first.getElementType())
      return emitOptionalError(loc, "concat operands differ in rank or element type");
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (i != axis && type.getDimSize(i) != shape[i])
        return emitOptionalError(loc, "concat operands differ in dimension ", i, ": ", shape[i], " and ",
                                 type.getDimSize(i));
    if (llvm::AddOverflow(shape[axis], type.getDimSize(axis), shape[axis]))
      return emitOptionalError(loc, "concat operands have more elements along axis ", axis, " than 64 bits can count");
  }
  results.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() { return success(); }
bool ConcatOp::allowsEpilogue() { return false; }
int64_t ConcatOp::getFlops() { return 0; }

FailureOr<Operation *> ConcatOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  int64_t axis = llvm::find(permutation, static_cast<int64_t>(getAxis())) - permutation.begin();
  return ConcatOp::create(builder, getLoc(), operands, axis).getOperation();
}

//===----------------------------------------------------------------------===//
// insert
//===----------------------------------------------------------------------===//

bool InsertOp::allowsEpilogue() { return false; }
bool InsertOp::updatesOperand(unsigned index) { return index == 0; }
int64_t InsertOp::getFlops() { return 0; }
/// In the memory of `into`, where the planner puts it wherever it can.
int64_t InsertOp::getBytesMoved() { return 2 * tensorBytes(getPart().getType()); }

LogicalResult InsertOp::verify() {
  const RankedTensorType into = typeOf(getInto()), part = typeOf(getPart());
  const auto dim = static_cast<int64_t>(getDim());
  if (getResult().getType() != into)
    return emitOpError() << "must return " << into << ", the type of its first operand, got " << getResult().getType();
  if (typeOf(getStart()).getRank() != 0)
    return emitOpError() << "has a start of " << getStart().getType() << ", give one integer";
  if (part.getRank() != into.getRank() || part.getElementType() != into.getElementType() || dim < 0 ||
      dim >= into.getRank())
    return emitOpError() << "cannot insert " << part << " into " << into << " along dimension " << dim
                         << ", ranks and element types must be equal, and the dimension must exist";
  const Extents whole = extentsOf(into), own = extentsOf(part);
  for (int64_t d = 0; d < into.getRank(); ++d)
    if (d == dim ? own[d].most() > whole[d].most() : own[d] != whole[d])
      return emitOpError() << "inserts " << part << " into " << into << ", which differ in dimension " << d;
  return success();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())) ||
      failed(verifySameElement(*this, getValue(), getResult())))
    return failure();
  if (elementCount(getValue().getType()) != 1)
    return emitOpError("padding value must have one element");
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.size() != to.size() || getLow().size() != from.size())
    return emitOpError("low, input and result differ in rank");
  for (size_t i = 0; i < from.size(); ++i) {
    // Bounds both by the extents: 128 bits keep hostile numbers honest.
    __int128 extent = from[i], exact = to[i] - extent - getLow()[i];
    if (getLow()[i] < -extent || exact < -extent)
      return emitOpError("removes more elements than the ") << from[i] << " of dimension " << i;
    int64_t low = getLow()[i], high = static_cast<int64_t>(exact);
    bool grows = low > 0 || high > 0;
    if (getMode() != PadMode::constant && grows && from[i] == 0)
      return emitOpError("dimension ") << i << " is empty and has no element to pad with";
    if (getMode() == PadMode::reflect && (low >= from[i] || high >= from[i]) && grows)
      return emitOpError("reflects more elements than the ") << from[i] << " of dimension " << i;
  }
  return success();
}

int64_t PadOp::getFlops() { return 0; }
bool PadOp::isPermutedOperand(unsigned index) { return index == 0; }

FailureOr<Operation *> PadOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  auto type = permutedType(getType(), permutation);
  return PadOp::create(builder, getLoc(), type, getMode(), operands[0], operands[1], permuted(getLow(), permutation))
      .getOperation();
}
