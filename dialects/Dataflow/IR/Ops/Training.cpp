//===- Training.cpp - What only training graphs hold ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

void StateOp::build(OpBuilder &, OperationState &state, Type type, StringAttr name, ElementsAttr value,
                    UnitAttr trainable) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.name = name, properties.value = value, properties.trainable = trainable;
  state.addTypes(type);
}

LogicalResult StateOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return emitOptionalError(loc, "holds no tensor");
  if (std::optional<ArrayAttr> cuts = adaptor.getCuts())
    for (auto cut : cuts->getAsRange<CutAttr>()) {
      FailureOr<RankedTensorType> part = partType(type, cut.getDim(), cut.getGroup().size());
      if (failed(part))
        return emitOptionalError(loc, "has no ", cut.getGroup().size(), " equal parts along dimension ", cut.getDim(),
                                 " of ", type);
      type = *part;
    }
  results.push_back(type);
  return success();
}

LogicalResult StateOp::copyInitial(int64_t rank, char *destination) {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (!getCuts())
    return copyConstant(getValue(), destination);
  std::vector<char> whole;
  TensorView view{type, nullptr};
  bool isSplat;
  if (!getConstantBytes(getValue(), view, isSplat) || isSplat) {
    whole.resize(tensorBytes(type));
    if (failed(copyConstant(getValue(), whole.data())))
      return failure();
    view.data = whole.data();
  }
  // What is cut stays until the part of it is there.
  std::vector<char> part;
  for (auto cut : getCuts()->getAsRange<CutAttr>()) {
    RankedTensorType partOf = *partType(view.type, cut.getDim(), cut.getGroup().size());
    std::vector<char> next(tensorBytes(partOf));
    copyPart(view, cut.getDim(), cut.getGroup().positionOf(rank), {partOf, next.data()});
    part = std::move(next);
    view = {partOf, part.data()};
  }
  std::copy_n(view.data, tensorBytes(view.type), destination);
  return success();
}

LogicalResult StateOp::verify() {
  if (getName().empty())
    return emitOpError("has no name");
  if (getTrainable() && !isa<FloatType>(getType().getElementType()))
    return emitOpError("is trainable and holds ") << getType().getElementType() << " elements, not floats";
  return success();
}

//===----------------------------------------------------------------------===//
// dropout_mask
//===----------------------------------------------------------------------===//

LogicalResult DropoutMaskOp::verify() {
  if (elementCount(getStep().getType()) != 1)
    return emitOpError("step is not one number");
  double keep = getKeep().convertToDouble();
  if (!(keep >= 0 && keep <= 1))
    return emitOpError("keep is not a probability");
  return success();
}

int64_t DropoutMaskOp::getFlops() { return 8 * elementCount(getType()); }

/// SplitMix64 of the element's number, begun at a hash of seed and step.
Value DropoutMaskOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type();
  auto c = [&](uint64_t value) { return emitIntConstant(b, loc, i64, static_cast<int64_t>(value)); };
  SmallVector<Value> zero(typeOf(getStep()).getRank(), kernel.index(0));
  Value step = emitCast(b, loc, kernel.element(getStep(), zero), typeOf(getStep()).getElementType(), i64, false);
  Value begin = arith::XOrIOp::create(b, loc, c(getSeed()), arith::MulIOp::create(b, loc, step, c(kSplitMix64Step)));
  Value number = arith::IndexCastOp::create(b, loc, i64, kernel.linearize(indices, shapeOf(getResult())));
  Value state = arith::AddIOp::create(b, loc, emitSplitMix64(b, loc, begin),
                                      arith::MulIOp::create(b, loc, number, c(kSplitMix64Step)));
  // 53 uniform bits against the probability, exactly.
  constexpr int kBits = 53;
  Value uniform = arith::ShRUIOp::create(b, loc, emitSplitMix64(b, loc, state), c(64 - kBits));
  auto limit = static_cast<uint64_t>(std::ldexp(getKeep().convertToDouble(), kBits));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, uniform, c(limit));
}

//===----------------------------------------------------------------------===//
// conv_weight_gradient
//===----------------------------------------------------------------------===//

LogicalResult ConvWeightGradientOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), g = shapeOf(getGradient()), weight = shapeOf(getResult());
  size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || g.size() != in.size() || weight.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getDilations().size() != spatial)
    return emitOpError("strides, pads_low, dilations, input, gradient and result differ in rank");
  auto groups = static_cast<int64_t>(getGroups());
  if (groups < 1 || in[1] % groups || g[1] % groups || weight[0] != g[1] || weight[1] != in[1] / groups ||
      in[0] != g[0])
    return emitOpError("channels, groups and batch do not match");
  Type element = getType().getElementType();
  if (typeOf(getInput()).getElementType() != element || typeOf(getGradient()).getElementType() != element)
    return emitOpError("operands and result differ in element type");
  for (size_t d = 0; d < spatial; ++d)
    if (getStrides()[d] < 1 || getDilations()[d] < 1 || !llvm::isInt<32>(getStrides()[d]) ||
        !llvm::isInt<32>(getDilations()[d]) || !llvm::isInt<32>(getPadsLow()[d]))
      return emitOpError("strides and dilations are from 1 to 2^31, pads_low fits 32 bits");
  return success();
}

bool ConvWeightGradientOp::allowsEpilogue() { return false; }

int64_t ConvWeightGradientOp::getFlops() {
  return 2 * elementCount(getGradient().getType()) * product(shapeOf(getResult()).drop_front());
}

namespace {
/// One weight tap against the positions of the result that it meets: o with
/// 0 <= o * stride + offset < extent.
struct TapRange {
  Value offset, lower, upper;
};
} // namespace

static TapRange tapRange(KernelEmitter &kernel, Value tap, int64_t stride, int64_t pad, int64_t dilation,
                         int64_t extent, int64_t outputs) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Value offset = kernel.add(kernel.mul(tap, dilation), kernel.index(-pad));
  auto atLeast = [&](Value bound) -> Value {
    Value up = arith::CeilDivSIOp::create(b, loc, bound, kernel.index(stride));
    up = arith::MaxSIOp::create(b, loc, up, kernel.index(0));
    return arith::MinSIOp::create(b, loc, up, kernel.index(outputs));
  };
  Value lower = atLeast(arith::SubIOp::create(b, loc, kernel.index(0), offset));
  Value upper = atLeast(arith::SubIOp::create(b, loc, kernel.index(extent), offset));
  return {offset, lower, upper};
}

void ConvWeightGradientOp::emitKernel(KernelEmitter &kernel) {
  ArrayRef<int64_t> in = shapeOf(getInput()), out = shapeOf(getGradient()), weight = shapeOf(getResult());
  if (elementCount(getType()) == 0)
    return;
  size_t spatial = in.size() - 2;
  auto groups = static_cast<int64_t>(getGroups());
  int64_t filters = out[1] / groups;
  // Filters that share what is read of the input.
  int64_t block = filters % 4 == 0 ? 4 : filters % 2 == 0 ? 2 : 1;
  Type element = getType().getElementType(), compute = computeType(element);
  int64_t lanes = 1;
  if (getStrides().back() == 1)
    while (lanes * 2 <= std::min(kernel.target().lanesF32, out.back()))
      lanes *= 2;
  Type vectorType = lanes > 1 ? Type(VectorType::get({lanes}, compute)) : compute;

  SmallVector<int64_t> items{groups, filters / block};
  llvm::append_range(items, weight.drop_front());
  Count work = out[0] * product(out.drop_front(2)) * block;
  kernel.parallel(product(items), grainOf(65536, work), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Value input = kernel.pointer(getInput()), gradient = kernel.pointer(getGradient());
    auto multiplyAdd = [&](Value x, Value y, Value sum) -> Value {
      return arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, x, y));
    };
    kernel.loop(begin, end, 1, [&](Value item) {
      SmallVector<Value> at = kernel.delinearize(item, items);
      Value firstFilter = kernel.add(kernel.mul(at[0], filters), kernel.mul(at[1], block));
      Value channel = kernel.add(kernel.mul(at[0], weight[1]), at[2]);
      SmallVector<TapRange> ranges;
      for (size_t d = 0; d < spatial; ++d)
        ranges.push_back(
            tapRange(kernel, at[3 + d], getStrides()[d], getPadsLow()[d], getDilations()[d], in[2 + d], out[2 + d]));
      SmallVector<Value> source(in.size()), from(out.size());
      source[1] = channel;
      // Per filter a sum of vectors, then one of scalars for what is left of a row.
      auto row = [&](ValueRange sums) {
        const TapRange &range = ranges.back();
        auto run = [&](Value lower, Value upper, int64_t width, ValueRange initial) {
          return kernel.reduce(lower, upper, width, initial, [&](Value o, ValueRange inner) {
            source.back() = kernel.add(kernel.mul(o, getStrides().back()), range.offset);
            from.back() = o;
            Value x = kernel.load(input, element, kernel.linearize(source, in), width);
            SmallVector<Value> next;
            for (int64_t f = 0; f < block; ++f) {
              from[1] = kernel.add(firstFilter, kernel.index(f));
              Value y = kernel.load(gradient, element, kernel.linearize(from, out), width);
              next.push_back(multiplyAdd(x, y, inner[f]));
            }
            return next;
          });
        };
        if (lanes == 1)
          return run(range.lower, range.upper, 1, sums);
        Value length = arith::SubIOp::create(b, loc, range.upper, range.lower);
        length = arith::MaxSIOp::create(b, loc, length, kernel.index(0));
        Value whole = kernel.mul(arith::DivUIOp::create(b, loc, length, kernel.index(lanes)), lanes);
        Value middle = kernel.add(range.lower, whole);
        SmallVector<Value> result = run(range.lower, middle, lanes, sums.take_front(block));
        llvm::append_range(result, run(middle, range.upper, 1, sums.drop_front(block)));
        return result;
      };
      std::function<SmallVector<Value>(size_t, ValueRange)> level = [&](size_t d, ValueRange sums) {
        if (d + 1 == spatial)
          return row(sums);
        return kernel.reduce(ranges[d].lower, ranges[d].upper, 1, sums, [&](Value o, ValueRange inner) {
          source[2 + d] = kernel.add(kernel.mul(o, getStrides()[d]), ranges[d].offset);
          from[2 + d] = o;
          return level(d + 1, inner);
        });
      };
      SmallVector<Value> initial(block, emitConstant(b, loc, vectorType, 0));
      if (lanes > 1)
        initial.append(block, emitConstant(b, loc, compute, 0));
      SmallVector<Value> sums =
          kernel.reduce(kernel.index(0), kernel.index(in[0]), 1, initial, [&](Value n, ValueRange inner) {
            source[0] = from[0] = n;
            return level(0, inner);
          });
      SmallVector<Value> to(at.begin() + 1, at.end());
      for (int64_t f = 0; f < block; ++f) {
        Value sum = sums[f];
        if (lanes > 1)
          sum = arith::AddFOp::create(b, loc, vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sum),
                                      sums[block + f]);
        to[0] = kernel.add(firstFilter, kernel.index(f));
        kernel.store(emitRoundTrip(b, loc, element, sum), to);
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// pool_gradient
//===----------------------------------------------------------------------===//

LogicalResult PoolGradientOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getResult()), out = shapeOf(getGradient());
  size_t spatial = getKernel().size();
  if (in.size() != spatial + 2 || out.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getPadsHigh().size() != spatial || getDilations().size() != spatial)
    return emitOpError("kernel, strides, pads, dilations, gradient and result differ in rank");
  if (in[0] != out[0] || in[1] != out[1])
    return emitOpError("changes batch or channels");
  for (size_t d = 0; d < spatial; ++d)
    for (int64_t value : {getKernel()[d], getStrides()[d], getDilations()[d]})
      if (value < 1 || !llvm::isInt<32>(value) || !llvm::isInt<32>(getPadsLow()[d]) ||
          !llvm::isInt<32>(getPadsHigh()[d]))
        return emitOpError("kernel, strides and dilations are from 1 to 2^31, pads fit 32 bits");
  size_t wanted = getKind() == PoolKind::average ? 0 : getKind() == PoolKind::max ? 1 : 2;
  if (getSaved().size() != wanted)
    return emitOpError("'") << stringifyPoolKind(getKind()) << "' saves " << wanted << " tensors, not "
                            << getSaved().size();
  for (auto [i, saved] : llvm::enumerate(getSaved()))
    if (saved.getType() != (i == 0 ? getResult().getType() : getGradient().getType()))
      return emitOpError("saved tensor ") << i << " differs in type from the pooling's";
  if (typeOf(getGradient()).getElementType() != getType().getElementType())
    return emitOpError("changes the element type");
  return success();
}

int64_t PoolGradientOp::getFlops() { return elementCount(getGradient().getType()) * product(getKernel()); }

Value PoolGradientOp::emitElement(KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  ArrayRef<int64_t> in = shapeOf(getResult()), out = shapeOf(getGradient());
  size_t spatial = getKernel().size();
  Type element = getType().getElementType(), compute = computeType(element);
  // The window at result position `window` meets this element with tap `tap`.
  SmallVector<Value> window{indices[0], indices[1]}, tap(spatial);
  window.resize(spatial + 2);

  auto start = [&](size_t d) {
    return kernel.add(kernel.mul(window[2 + d], getStrides()[d]), kernel.index(-getPadsLow()[d]));
  };
  // Taps of a window that begin before `limit`.
  auto span = [&](size_t d, int64_t limit) -> Value {
    Value room = arith::SubIOp::create(b, loc, kernel.index(limit), start(d));
    room = arith::MaxSIOp::create(b, loc, room, kernel.index(0));
    room = arith::CeilDivUIOp::create(b, loc, room, kernel.index(getDilations()[d]));
    return arith::MinSIOp::create(b, loc, room, kernel.index(getKernel()[d]));
  };
  auto firstInside = [&](size_t d) -> Value {
    Value before = arith::SubIOp::create(b, loc, kernel.index(0), start(d));
    before = arith::MaxSIOp::create(b, loc, before, kernel.index(0));
    return arith::CeilDivUIOp::create(b, loc, before, kernel.index(getDilations()[d]));
  };
  auto average = [&](Value g) -> Value {
    Value count = kernel.index(1);
    for (size_t d = 0; d < spatial; ++d) {
      Value taps = getCountIncludePad() ? span(d, in[2 + d] + getPadsHigh()[d])
                                        : arith::SubIOp::create(b, loc, span(d, in[2 + d]), firstInside(d)).getResult();
      count = arith::MulIOp::create(b, loc, count, taps);
    }
    count = arith::IndexCastOp::create(b, loc, b.getI64Type(), count);
    return arith::DivFOp::create(b, loc, g, emitCast(b, loc, count, b.getI64Type(), compute, false));
  };
  auto maximum = [&](Value g) -> Value {
    // No earlier tap as large, no later one larger.
    Value x = kernel.element(getSaved()[0], indices);
    Value own = kernel.linearize(tap, getKernel());
    SmallVector<Value> other(spatial), at(indices);
    std::function<Value(size_t, Value)> level = [&](size_t d, Value so) -> Value {
      if (d == spatial) {
        Value y = kernel.element(getSaved()[0], at);
        Value number = kernel.linearize(other, getKernel());
        Value isEarlier = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, own);
        Value less = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, y, x);
        Value same = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, y, x);
        return arith::AndIOp::create(b, loc, so, arith::SelectOp::create(b, loc, isEarlier, less, same));
      }
      Value from = start(d);
      return kernel.reduce(firstInside(d), span(d, in[2 + d]), 1, so, [&](Value k, ValueRange inner) {
        other[d] = k;
        at[2 + d] = kernel.add(from, kernel.mul(k, getDilations()[d]));
        return SmallVector<Value>{level(d + 1, inner[0])};
      })[0];
    };
    Value isFirst = level(0, arith::ConstantOp::create(b, loc, b.getBoolAttr(true)));
    return arith::SelectOp::create(b, loc, isFirst, g, emitConstant(b, loc, compute, 0));
  };
  auto power = [&](Value g) -> Value {
    // sign(x) * (|x| / y)^(p - 1); all is zero where y is.
    Value x = kernel.element(getSaved()[0], indices), y = kernel.element(getSaved()[1], window);
    Value zero = emitConstant(b, loc, compute, 0);
    Value ratio = arith::DivFOp::create(b, loc, emitUnary(b, loc, UnaryKind::abs, x, false, 0, 0), y);
    Value slope = emitUnary(b, loc, UnaryKind::sign, x, false, 0, 0);
    for (int64_t i = 1; i < static_cast<int64_t>(getP()); ++i)
      slope = arith::MulFOp::create(b, loc, slope, ratio);
    Value isZero = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, y, zero);
    return arith::SelectOp::create(b, loc, isZero, zero, arith::MulFOp::create(b, loc, g, slope));
  };

  std::function<Value(size_t, Value)> level = [&](size_t d, Value sum) -> Value {
    if (d == spatial) {
      Value g = kernel.element(getGradient(), window);
      Value part = getKind() == PoolKind::average ? average(g) : getKind() == PoolKind::max ? maximum(g) : power(g);
      return arith::AddFOp::create(b, loc, sum, part);
    }
    return kernel.reduce(kernel.index(0), kernel.index(getKernel()[d]), 1, sum, [&](Value k, ValueRange inner) {
      auto [position, exists] =
          kernel.windowOver(indices[2 + d], k, getStrides()[d], getPadsLow()[d], getDilations()[d], out[2 + d]);
      window[2 + d] = position;
      tap[d] = k;
      return SmallVector<Value>{kernel.choose(
          exists, [&] { return level(d + 1, inner[0]); }, [&] { return Value(inner[0]); })};
    })[0];
  };
  return emitRoundTrip(b, loc, element, level(0, emitConstant(b, loc, compute, 0)));
}

//===----------------------------------------------------------------------===//
// batch_norm_train
//===----------------------------------------------------------------------===//

LogicalResult BatchNormTrainOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto input = typeOf(adaptor.getInput());
  if (input.getRank() < 2)
    return emitOptionalError(loc, "input has no channels");
  auto vector = RankedTensorType::get({input.getDimSize(1)}, input.getElementType());
  for (Value parameter : {adaptor.getScale(), adaptor.getBias()})
    if (parameter.getType() != vector)
      return emitOptionalError(loc, "scale or bias is not ", vector, ", one value a channel");
  results.assign({input, vector, vector});
  return success();
}

LogicalResult BatchNormTrainOp::verify() {
  if (elementCount(getInput().getType()) == 0)
    return emitOpError("has no elements to take statistics of");
  return success();
}

int64_t BatchNormTrainOp::getFlops() { return 8 * elementCount(getInput().getType()); }
