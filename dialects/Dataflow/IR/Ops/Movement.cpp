//===- Movement.cpp - transpose, reshape, expand, tile, slice, concat, pad ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/HostElements.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/PatternMatch.h"

#include <algorithm>
#include <numeric>

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
    return emitOptionalError(loc, "permutation has ", permutation.size(), " entries, the input rank ", type.getRank());
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
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, TransposeToReshape>(context);
}

Value TransposeOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from(indices.size());
  for (auto [i, dimension] : llvm::enumerate(getPermutation()))
    from[dimension] = indices[i];
  return kernel.element(getInput(), from);
}

LogicalResult TransposeOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  stridedCopy(operands[0].data, results[0].data, results[0].type.getShape(),
              permuted<int64_t>(rowMajorStrides(operands[0].type.getShape()), getPermutation()), 0,
              elementBytes(operands[0].type.getElementType()));
  return success();
}

int64_t TransposeOp::getFlops() { return 0; }

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())))
    return failure();
  if (elementCount(getInput().getType()) != elementCount(getType()))
    return emitOpError("has ") << elementCount(getInput().getType()).value() << " elements in and "
                               << elementCount(getType()).value() << " out";
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

Value ReshapeOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  Value linear = kernel.linearize(indices, shapeOf(getResult()));
  return kernel.element(getInput(), kernel.delinearize(linear, shapeOf(getInput())));
}

LogicalResult ReshapeOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  // Not memcpy: a tensor of no elements may have no address.
  std::copy_n(operands[0].data, tensorBytes(operands[0].type), results[0].data);
  return success();
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
    return emitOpError("input does not broadcast to the result's shape");
  return success();
}

OpFoldResult ExpandOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? OpFoldResult(getInput()) : OpFoldResult();
}

Value ExpandOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  return kernel.broadcastElements(getInput(), indices, 1);
}

LogicalResult ExpandOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> own = operands[0].type.getShape(), shape = results[0].type.getShape();
  SmallVector<int64_t> ownStrides = rowMajorStrides(own), strides(shape.size(), 0);
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i] != 1)
      strides[shape.size() - own.size() + i] = ownStrides[i];
  stridedCopy(operands[0].data, results[0].data, shape, strides, 0, elementBytes(operands[0].type.getElementType()));
  return success();
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
      return emitOpError("extent ") << to[i] << " of dimension " << i << " is no multiple of " << from[i];
  return success();
}

Value TileOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from;
  for (auto [i, extent] : llvm::enumerate(shapeOf(getInput())))
    from.push_back(extent == shapeOf(getResult())[i] ? Value(indices[i])
                                                     : Value(arith::RemUIOp::create(kernel.builder(), kernel.loc(),
                                                                                    indices[i], kernel.index(extent))));
  return kernel.element(getInput(), from);
}

LogicalResult TileOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  // As a strided copy over [repeat, extent] pairs of dimensions.
  ArrayRef<int64_t> from = operands[0].type.getShape(), to = results[0].type.getShape();
  SmallVector<int64_t> ownStrides = rowMajorStrides(from), shape, strides;
  for (size_t i = 0; i < from.size(); ++i) {
    shape.append({from[i] == 0 ? 0 : to[i] / from[i], from[i]});
    strides.append({0, ownStrides[i]});
  }
  stridedCopy(operands[0].data, results[0].data, shape, strides, 0, elementBytes(operands[0].type.getElementType()));
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

Value SliceOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  SmallVector<Value> from;
  for (auto [i, index] : llvm::enumerate(indices))
    from.push_back(kernel.add(kernel.mul(index, getSteps()[i]), kernel.index(getStarts()[i])));
  return kernel.element(getInput(), from);
}

LogicalResult SliceOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  SmallVector<int64_t> strides = rowMajorStrides(operands[0].type.getShape());
  int64_t base = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    base += getStarts()[i] * strides[i];
    strides[i] *= getSteps()[i];
  }
  stridedCopy(operands[0].data, results[0].data, results[0].type.getShape(), strides, base,
              elementBytes(operands[0].type.getElementType()));
  return success();
}

int64_t SliceOp::getFlops() { return 0; }

FailureOr<Operation *> SliceOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  auto type = RankedTensorType::get(permuted(shapeOf(getResult()), permutation), getType().getElementType());
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
    return emitOptionalError(loc, "concat of nothing");
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
    shape[axis] += type.getDimSize(axis);
  }
  results.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() { return success(); }

/// Each operand is a run of `extent * inner` elements in every outer row.
void ConcatOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> shape = shapeOf(getResult());
  int64_t axis = getAxis(), outer = 1, inner = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i)
    inner *= shape[i];
  int64_t offset = 0;
  for (Value input : getInputs()) {
    int64_t run = shapeOf(input)[axis] * inner, start = offset * inner;
    offset += shapeOf(input)[axis];
    if (run == 0 || outer == 0)
      continue;
    Type element = typeOf(input).getElementType();
    // Rows are long for channels-last images, short and many otherwise: both are
    // a loop over elements, chunked by bytes.
    int64_t grain = grainOf(16384, run);
    kernel.parallelNest(outer, run, grain, [&](Value row, Value first, Value last) {
      Value source = kernel.pointer(input), target = kernel.resultPointer(0);
      int64_t lanes = kernel.target().lanesF32;
      Value from = kernel.mul(row, run);
      Value to = kernel.add(kernel.mul(row, shape[axis] * inner), kernel.index(start));
      auto copy = [&](Value i, int64_t count) {
        Value value = kernel.load(source, element, kernel.add(from, i), count);
        kernel.store(target, element, kernel.add(to, i), value);
      };
      Value rest = first;
      if (lanes > 1) {
        rest = kernel.index(run / lanes * lanes);
        kernel.loop(first, rest, lanes, [&](Value i) { copy(i, lanes); });
      }
      kernel.loop(rest, last, 1, [&](Value i) { copy(i, 1); });
    });
  }
}

bool ConcatOp::allowsEpilogue() { return false; }

LogicalResult ConcatOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> shape = results[0].type.getShape();
  int64_t outer = 1, innerBytes = elementBytes(results[0].type.getElementType());
  for (int64_t i = 0; i < static_cast<int64_t>(getAxis()); ++i)
    outer *= shape[i];
  for (size_t i = getAxis() + 1; i < shape.size(); ++i)
    innerBytes *= shape[i];
  char *out = results[0].data;
  for (int64_t row = 0; row < outer; ++row)
    for (const TensorView &operand : operands) {
      int64_t run = operand.type.getDimSize(getAxis()) * innerBytes;
      out = std::copy_n(operand.data + row * run, run, out);
    }
  return success();
}

int64_t ConcatOp::getFlops() { return 0; }

FailureOr<Operation *> ConcatOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  int64_t axis = llvm::find(permutation, static_cast<int64_t>(getAxis())) - permutation.begin();
  return ConcatOp::create(builder, getLoc(), operands, axis).getOperation();
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

LogicalResult PadOp::verify() {
  if (failed(verifySameElement(*this, getInput(), getResult())) ||
      failed(verifySameElement(*this, getValue(), getResult())))
    return failure();
  if (elementCount(getValue().getType()) != 1)
    return emitOpError("padding value is not one element");
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  if (from.size() != to.size() || getLow().size() != from.size())
    return emitOpError("low, input and result differ in rank");
  for (size_t i = 0; i < from.size(); ++i) {
    // Bounds both by the extents: 128 bits keep hostile numbers honest.
    __int128 extent = from[i], exact = to[i] - extent - getLow()[i];
    if (getLow()[i] < -extent || exact < -extent)
      return emitOpError("removes more than dimension ") << i << " of extent " << from[i] << " has";
    int64_t low = getLow()[i], high = static_cast<int64_t>(exact);
    bool grows = low > 0 || high > 0;
    if (getMode() != PadMode::constant && grows && from[i] == 0)
      return emitOpError("dimension ") << i << " is empty, nothing to pad with";
    if (getMode() == PadMode::reflect && (low >= from[i] || high >= from[i]) && grows)
      return emitOpError("reflects further than dimension ") << i << " of extent " << from[i] << " is long";
  }
  return success();
}

Value PadOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  ArrayRef<int64_t> from = shapeOf(getInput()), to = shapeOf(getResult());
  SmallVector<Value> source;
  Value inside;
  auto clamp = [&](Value i, int64_t extent) -> Value {
    Value low = arith::MaxSIOp::create(b, loc, i, kernel.index(0));
    return arith::MinSIOp::create(b, loc, low, kernel.index(extent - 1));
  };
  for (auto [d, index] : llvm::enumerate(indices)) {
    int64_t extent = from[d], low = getLow()[d], high = to[d] - extent - low;
    Value i = kernel.add(index, kernel.index(-low));
    if (low <= 0 && high <= 0) {
      source.push_back(i);
      continue;
    }
    switch (getMode()) {
    case PadMode::constant: {
      Value below = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(extent));
      inside = inside ? arith::AndIOp::create(b, loc, inside, below).getResult() : below;
      source.push_back(extent == 0 ? kernel.index(0) : clamp(i, extent));
      break;
    }
    case PadMode::edge:
      source.push_back(clamp(i, extent));
      break;
    case PadMode::reflect: {
      // |i| below the start, 2(extent - 1) - i past the end.
      Value negated = arith::SubIOp::create(b, loc, kernel.index(0), i);
      Value folded = arith::MaxSIOp::create(b, loc, i, negated);
      Value mirrored = arith::SubIOp::create(b, loc, kernel.index(2 * (extent - 1)), folded);
      source.push_back(arith::MinSIOp::create(b, loc, folded, mirrored));
      break;
    }
    case PadMode::wrap: {
      // low is congruent to a non-negative number of whole turns.
      int64_t turns = (std::max<int64_t>(low, 0) + extent - 1) / extent * extent;
      source.push_back(arith::RemUIOp::create(b, loc, kernel.add(i, kernel.index(turns)), kernel.index(extent)));
      break;
    }
    }
  }
  SmallVector<Value> zero(typeOf(getValue()).getRank(), kernel.index(0));
  if (elementCount(getInput().getType()) == 0)
    return kernel.element(getValue(), zero);
  if (!inside)
    return kernel.element(getInput(), source);
  // The clamped read is always in bounds, so it needs no branch.
  Value read = kernel.element(getInput(), source);
  return arith::SelectOp::create(b, loc, inside, read, kernel.element(getValue(), zero));
}

LogicalResult PadOp::evaluate(ArrayRef<TensorView> operands, ArrayRef<MutableTensorView> results) {
  ArrayRef<int64_t> from = operands[0].type.getShape(), to = results[0].type.getShape();
  int64_t width = elementBytes(results[0].type.getElementType());
  SmallVector<int64_t> strides = rowMajorStrides(from), digits(to.size(), 0);
  for (int64_t at = 0, total = elementCount(results[0].type); at < total; ++at) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < to.size(); ++d) {
      int64_t i = digits[d] - getLow()[d], extent = from[d];
      if (i < 0 || i >= extent) {
        if (getMode() == PadMode::constant)
          inside = false;
        else if (getMode() == PadMode::edge)
          i = std::clamp<int64_t>(i, 0, extent - 1);
        else if (getMode() == PadMode::reflect)
          i = std::min(std::abs(i), 2 * (extent - 1) - std::abs(i));
        else
          i = ((i % extent) + extent) % extent;
      }
      offset += i * strides[d];
    }
    std::memcpy(results[0].data + at * width, inside ? operands[0].data + offset * width : operands[1].data, width);
    for (size_t d = to.size(); d-- > 0;) {
      if (++digits[d] < to[d])
        break;
      digits[d] = 0;
    }
  }
  return success();
}

int64_t PadOp::getFlops() { return 0; }

bool PadOp::isPermutedOperand(unsigned index) { return index == 0; }

FailureOr<Operation *> PadOp::permute(OpBuilder &builder, ArrayRef<int64_t> permutation, ValueRange operands) {
  auto type = RankedTensorType::get(permuted(shapeOf(getResult()), permutation), getType().getElementType());
  return PadOp::create(builder, getLoc(), type, getMode(), operands[0], operands[1], permuted(getLow(), permutation))
      .getOperation();
}
