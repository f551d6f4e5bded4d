//===- Conv.cpp - Kernels of conv -----------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Emit/TunableKernel.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

emit::ConvSpec sluice::dataflow::describeConv(ConvOp op) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t height = last ? 1 : 2, channel = last ? 3 : 1;
  SmallVector<int64_t> kernel = op.getKernelShape();
  emit::ConvSpec spec;
  spec.batch = in[0];
  spec.inH = in[height];
  spec.inW = in[height + 1];
  spec.inC = in[channel];
  spec.outH = out[height];
  spec.outW = out[height + 1];
  spec.outC = out[channel];
  spec.kernelH = kernel[0];
  spec.kernelW = kernel[1];
  spec.strideH = op.getStrides()[0];
  spec.strideW = op.getStrides()[1];
  spec.padTop = op.getPads()[0];
  spec.padLeft = op.getPads()[1];
  spec.dilationH = op.getDilations()[0];
  spec.dilationW = op.getDilations()[1];
  spec.groups = op.getGroups();
  spec.tuning = tuningOf(op);
  return emit::turnColumn(spec);
}

emit::WinogradSpec sluice::dataflow::describeWinograd(ConvOp op) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  return {describeConv(op), *op.getAlgorithm() == ConvAlgorithm::winograd2 ? 2 : 4, weight[3], weight[4]};
}

/// Any rank, layout and element type: one sum a result element.
static void emitPlainConv(ConvOp op, KernelEmitter &kernel) {
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, channelAt = last ? spatial + 1 : 1, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups(), perGroup = in[channelAt] / groups, outPerGroup = out[channelAt] / groups;
  SmallVector<int64_t> window = op.getKernelShape();
  Type element = op.getType().getElementType(), compute = computeType(element);
  int64_t extent = product(out);
  if (extent == 0)
    return;
  kernel.parallel(extent, kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loop(begin, end, 1, [&](Value linear) {
      SmallVector<Value> at = kernel.delinearize(linear, out);
      Value m = at[channelAt];
      Value group =
          groups == 1 ? kernel.index(0) : arith::DivUIOp::create(b, loc, m, kernel.index(outPerGroup)).getResult();
      Value firstChannel = kernel.mul(group, perGroup);
      SmallVector<Value> tap;
      // Kernel dimensions outside, channels inside; a row of the kernel outside
      // the image is skipped.
      std::function<Value(size_t, Value, SmallVector<Value>)> level = [&](size_t d, Value acc,
                                                                          SmallVector<Value> position) -> Value {
        if (d == spatial) {
          return kernel.reduce(kernel.index(0), kernel.index(perGroup), 1, acc, [&](Value c, ValueRange sums) {
            SmallVector<Value> from{at[0]}, weight(tap);
            weight.insert(weight.begin(), m);
            weight.insert(weight.begin() + op.getWeightChannelDim(), c);
            Value channel = kernel.add(firstChannel, c);
            if (!last)
              from.push_back(channel);
            llvm::append_range(from, position);
            if (last)
              from.push_back(channel);
            Value term = emitBinary(b, loc, BinaryKind::mul, kernel.element(op.getInput(), from),
                                    kernel.element(op.getWeight(), weight), false);
            return SmallVector<Value>{emitBinary(b, loc, BinaryKind::add, sums[0], term, false)};
          })[0];
        }
        return kernel.reduce(kernel.index(0), kernel.index(window[d]), 1, acc, [&](Value k, ValueRange sums) {
          Value i = kernel.add(kernel.mul(at[spatialAt + d], op.getStrides()[d]),
                               kernel.add(kernel.mul(k, op.getDilations()[d]), kernel.index(-op.getPads()[d])));
          Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(in[spatialAt + d]));
          SmallVector<Value> next = position;
          next.push_back(i);
          tap.push_back(k);
          Value sum = kernel.choose(
              inside, [&] { return level(d + 1, sums[0], next); }, [&] { return sums[0]; });
          tap.pop_back();
          return SmallVector<Value>{sum};
        })[0];
      };
      kernel.store(level(0, emitConstant(b, loc, compute, 0), {}), at);
    });
  });
}

namespace {
/// A convolution's elements by their coordinates, packed weights or not.
struct ConvElements {
  ConvOp op;
  KernelEmitter &kernel;
  ArrayRef<int64_t> in = shapeOf(op.getInput());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups();
  int64_t inputs = in[last ? spatial + 1 : 1] / groups, outputs = op.getOutputChannels() / groups;

  SmallVector<Value> at(Value image, Value channel, ValueRange position) {
    SmallVector<Value> at{image};
    if (!last)
      at.push_back(channel);
    llvm::append_range(at, position);
    if (last)
      at.push_back(channel);
    return at;
  }

  /// Where a tap of a window reads; zero in the padding.
  ProductOperand::Place inputAt(Value image, Value group, Value channel, ValueRange window, ValueRange tap) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> position;
    Value inside;
    for (size_t d = 0; d < spatial; ++d) {
      int64_t extent = in[spatialAt + d], tapped = op.getKernelShape()[d];
      Value i = kernel.add(kernel.mul(window[d], op.getStrides()[d]),
                           kernel.add(kernel.mul(tap[d], op.getDilations()[d]), kernel.index(-op.getPads()[d])));
      bool isPadded =
          op.getPads()[d] != 0 || op.getPads()[spatial + d] != 0 ||
          (shapeOf(op.getResult())[spatialAt + d] - 1) * op.getStrides()[d] + (tapped - 1) * op.getDilations()[d] >=
              extent;
      if (isPadded) {
        // Unsigned: below zero is far above.
        Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(extent));
        i = arith::SelectOp::create(b, loc, in, i, kernel.index(0));
        inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
      }
      position.push_back(i);
    }
    return {at(image, kernel.add(kernel.mul(group, inputs), channel), position), inside};
  }
  Value input(Value image, Value group, Value channel, ValueRange window, ValueRange tap) {
    ProductOperand::Place place = inputAt(image, group, channel, window, tap);
    Value value = kernel.element(op.getInput(), place.at);
    if (!place.inside)
      return value;
    OpBuilder &b = kernel.builder();
    Value zero = emitConstant(b, kernel.loc(), value.getType(), 0);
    return arith::SelectOp::create(b, kernel.loc(), place.inside, value, zero);
  }

  SmallVector<Value> weightAt(Value group, Value output, Value channel, ValueRange tap) {
    Value filter = kernel.add(kernel.mul(group, outputs), output);
    if (!op.getPackedChannels()) {
      SmallVector<Value> at(tap);
      at.insert(at.begin(), filter);
      at.insert(at.begin() + op.getWeightChannelDim(), channel);
      return at;
    }
    ArrayRef<int64_t> shape = shapeOf(op.getWeight());
    if (shape.size() == 3)
      return {tap[0], tap[1], filter};
    SmallVector<Value> panel = kernel.delinearize(output, {outputs, shape.back()});
    return {group, panel[0], tap[0], tap[1], channel, panel[1]};
  }
  Value weight(Value group, Value output, Value channel, ValueRange tap) {
    return kernel.element(op.getWeight(), weightAt(group, output, channel, tap));
  }
};
} // namespace

/// A product of all pixels' windows and the filters, for each group.
static void emitGridConv(ConvOp op, KernelEmitter &kernel) {
  ConvElements elements{op, kernel};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  SmallVector<int64_t> taps = op.getKernelShape();
  SmallVector<int64_t> pixels{out[0]};
  llvm::append_range(pixels, out.drop_front(elements.spatialAt).take_front(elements.spatial));
  // In the weights' order, so that their elements lie together: (taps, channel) where packed, or as they are.
  bool isPacked = op.getPackedChannels().has_value(), endsInChannels = isPacked || op.getWeightChannelDim() != 1;
  SmallVector<int64_t> sum(taps);
  sum.insert(endsInChannels ? sum.end() : sum.begin(), elements.inputs);
  GridProduct tiles;
  tiles.batches = elements.groups;
  tiles.m = product(pixels);
  tiles.n = elements.outputs;
  tiles.k = product(sum);
  tiles.type = computeType(op.getType().getElementType());
  Type element = op.getType().getElementType();
  tiles.lhs.tensor = op.getInput();
  tiles.rhs.tensor = op.getWeight();
  tiles.lhs.alongK = elements.last;
  tiles.rhs.alongK = !isPacked;
  // Channels of a pixel lie together; so do filters of a panel, or a whole filter.
  if (elements.last && endsInChannels)
    tiles.lhs.run = longestRun(element, elements.inputs);
  bool hasPanels = isPacked && shapeOf(op.getWeight()).size() > 3;
  tiles.rhs.run = longestRun(element, hasPanels  ? shapeOf(op.getWeight()).back()
                                      : isPacked ? elements.outputs
                                                 : tiles.k);
  struct Term {
    Value channel;
    SmallVector<Value> tap;
  };
  auto split = [&](Value k) {
    SmallVector<Value> digits = kernel.delinearize(k, sum);
    Value channel = endsInChannels ? digits.back() : digits.front();
    digits.erase(endsInChannels ? digits.end() - 1 : digits.begin());
    return Term{channel, digits};
  };
  auto locateInput = [&](Value group, Value m, Value k) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels);
    Term term = split(k);
    return elements.inputAt(pixel[0], group, term.channel, ValueRange(pixel).drop_front(), term.tap);
  };
  auto locateWeight = [&](Value group, Value n, Value k) {
    Term term = split(k);
    return ProductOperand::Place{elements.weightAt(group, n, term.channel, term.tap), Value()};
  };
  auto sink = [&](Value group, Value m, Value n, Value value) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels);
    kernel.store(value, elements.at(pixel[0], kernel.add(kernel.mul(group, elements.outputs), n),
                                    ValueRange(pixel).drop_front()));
  };
  tiles.lhs.locate = locateInput;
  tiles.rhs.locate = locateWeight;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

/// A thread an element.
static void emitGridDepthwise(ConvOp op, KernelEmitter &kernel) {
  ConvElements elements{op, kernel};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  SmallVector<int64_t> sum = op.getKernelShape();
  sum.push_back(elements.inputs);
  kernel.parallel(product(out), {}, [&](Value item, Value) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> at = kernel.delinearize(item, out);
    SmallVector<Value> channel =
        kernel.delinearize(at[elements.last ? elements.spatial + 1 : 1], {elements.groups, elements.outputs});
    Value zero = emitConstant(b, loc, computeType(op.getType().getElementType()), 0);
    Value total = kernel.reduce(kernel.index(0), kernel.index(product(sum)), 1, zero, [&](Value k, ValueRange sums) {
      SmallVector<Value> term = kernel.delinearize(k, sum);
      ValueRange tap = ValueRange(term).drop_back();
      Value x = elements.input(at[0], channel[0], term.back(),
                               ValueRange(at).drop_front(elements.spatialAt).take_front(elements.spatial), tap);
      Value w = elements.weight(channel[0], channel[1], term.back(), tap);
      return SmallVector<Value>{
          emitBinary(b, loc, BinaryKind::add, sums[0], emitBinary(b, loc, BinaryKind::mul, x, w, false), false)};
    })[0];
    kernel.store(total, at);
  });
}

static void emitConvKernel(ConvOp op, KernelEmitter &kernel) {
  if (kernel.inGrids() && elementCount(op.getType()) != 0) {
    hasFewFilters(static_cast<int64_t>(op.getGroups()), op.getOutputChannels()) ? emitGridDepthwise(op, kernel)
                                                                                : emitGridConv(op, kernel);
    return;
  }
  if (!op.getPackedChannels()) {
    emitPlainConv(op, kernel);
    return;
  }
  Type element = op.getType().getElementType();
  auto emitWith = [&](const auto &spec, auto emitKernel) {
    int64_t extent = emit::parallelExtent(spec, kernel.target());
    kernel.parallel(extent, kernel.work(Rate::Products), [&](Value begin, Value end) {
      OpBuilder &b = kernel.builder();
      emitKernel(b, kernel.loc(), spec, kernel.target(),
                 emit::Operands{{kernel.pointer(op.getInput()), element}, {kernel.pointer(op.getWeight()), element}},
                 emit::WorkItems{begin, end},
                 [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                   kernel.inSink(inner, [&] { kernel.storeLanes(value, indices, lanes); });
                 });
    });
  };
  if (op.isWinograd()) {
    emitWith(describeWinograd(op), emit::emitWinograd);
    return;
  }
  emit::ConvSpec spec = describeConv(op);
  spec.sinkStyle = kernel.sinkStyle();
  if (op.getAlgorithm())
    emitWith(emit::ShiftAddSpec{spec}, emit::emitShiftAdd);
  else
    emitWith(spec, emit::emitConv2d);
}

static LogicalResult checkConvKernel(ConvOp op, const emit::VectorTarget &target, const KernelStyle &style) {
  if (style.form == KernelForm::Grids)
    return op.getAlgorithm() ? op.emitError("convolves by an algorithm for CPUs, for which there are no grids")
                             : success();
  if (!op.getPackedChannels() || op.isWinograd() || elementCount(op.getType()) == 0)
    return success();
  emit::ConvSpec spec = describeConv(op);
  if (op.getAlgorithm())
    spec = emit::ShiftAddSpec{spec}.taps();
  int64_t block = emit::convOutputBlock(spec, target);
  if (emit::isDepthwise(spec))
    block = static_cast<int64_t>(llvm::alignTo(spec.outC, block));
  return checkPackedWeight(op, op.getWeight(), block);
}

static void describeConvSpace(ConvOp op, const emit::VectorTarget &target, TunableKernel &kernel) {
  if (shapeOf(op.getInput()).size() != 4) {
    // dataflow-assign-layout makes a signal an image, whose tiles lie along it.
    kernel.rows = shapeOf(op.getResult())[2];
    kernel.columns = op.getOutputChannels() / static_cast<int64_t>(op.getGroups());
    kernel.hasTile = op.getGroups() == 1;
    const emit::RegisterTile tile = emit::chooseTile(kernel.rows, kernel.columns, 32, target);
    kernel.chosen.rows = tile.rows;
    kernel.chosen.vectors = tile.vectors;
    return;
  }
  emit::ConvSpec spec = describeConv(op);
  spec.tuning = {};
  if (emit::isPointwise(spec))
    return describeTuningSpace(emit::pointwiseMatmul(spec), target, kernel);
  const emit::RegisterTile tile = emit::chooseTile(spec.outW, spec.groupOutC(), 32, target);
  kernel.rows = spec.outW;
  kernel.columns = spec.groupOutC();
  kernel.depth = spec.groupInC() * spec.kernelH * spec.kernelW;
  kernel.hasTile = !emit::isDepthwise(spec) && emit::convGroupsTogether(spec, target) == 1;
  kernel.allowsWinograd =
      emit::allowsWinograd(spec) && op.getType().getElementType().isF32() && isConstantExpression(op.getWeight());
  kernel.allowsShiftAdd = emit::prefersShiftAdd(spec, target);
  kernel.chosen.rows = tile.rows;
  kernel.chosen.vectors = tile.vectors;
  kernel.chosen.rowBlock = emit::convRowBlock(spec) * spec.outW;
}

void sluice::dataflow::attachConvKernels(MLIRContext *context) {
  attach<CheckedKernelModel<emitConvKernel, checkConvKernel>, TuningSpaceModel<describeConvSpace>>(context);
}
