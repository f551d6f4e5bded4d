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
#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <functional>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

static emit::ConvSpec describeImages(ConvOp op, ArrayRef<int64_t> in, ArrayRef<int64_t> out) {
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

emit::ConvSpec sluice::dataflow::describeConv(ConvOp op) {
  return describeImages(op, shapeOf(op.getInput()), shapeOf(op.getResult()));
}

emit::ConvSpec sluice::dataflow::describeLeastConv(ConvOp op) {
  const SymbolsAttr symbols = symbolsOf(op);
  if (!symbols)
    return describeConv(op);
  const Point least(symbols.getLeast().begin(), symbols.getLeast().end());
  return describeImages(op, typeAt(typeOf(op.getInput()), least).getShape(), typeAt(op.getType(), least).getShape());
}

emit::WinogradSpec sluice::dataflow::describeWinograd(ConvOp op) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  return {describeConv(op), *op.getAlgorithm() == ConvAlgorithm::winograd2 ? 2 : 4, weight[3], weight[4]};
}

namespace {
/// The extents of describeConv's specification in a step.
struct ConvSizes {
  ConvSizes(ConvOp op, const emit::ConvSpec &spec) {
    const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
    const size_t height = op.getLayout() == Layout::channels_last ? 1 : 2;
    batch = out[0];
    inH = in[height], inW = in[height + 1];
    outH = out[height], outW = out[height + 1];
    if (spec.isTurned) {
      std::swap(inH, inW);
      std::swap(outH, outW);
    }
  }
  bool areConstant() const {
    return llvm::all_of(ArrayRef{batch, inH, inW, outH, outW},
                        [](const Extent &extent) { return extent.isConstant(); });
  }

  Extent batch = 1, inH = 1, inW = 1, outH = 1, outW = 1;
};
} // namespace

/// Any rank, layout and element type: one sum a result element.
static void emitPlainConv(ConvOp op, KernelEmitter &kernel) {
  const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, channelAt = last ? spatial + 1 : 1, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups();
  const Extent perGroup = in[channelAt] / groups, outPerGroup = out[channelAt] / groups;
  SmallVector<int64_t> window = op.getKernelShape();
  Type element = op.getType().getElementType(), compute = computeType(element);
  if (elementCount(op.getType()) == 0)
    return;
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
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
  Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, spatialAt = last ? 1 : 2;
  int64_t groups = op.getGroups();
  int64_t inputs = in[last ? spatial + 1 : 1].most() / groups, outputs = op.getOutputChannels() / groups;

  /// Whether some window reaches over the image's edge along spatial dimension `d`, as far as extents show.
  bool isPadded(size_t d) {
    if (op.getPads()[d] != 0 || op.getPads()[spatial + d] != 0)
      return true;
    const Extent &image = in[spatialAt + d], &windows = out[spatialAt + d];
    const int64_t reach = (op.getKernelShape()[d] - 1) * op.getDilations()[d], stride = op.getStrides()[d];
    if (image.isConstant() && windows.isConstant())
      return (windows.most() - 1) * stride + reach >= image.most();
    return reach != 0 || stride != 1 || !isSameExtent(image, windows);
  }

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
      Value i = kernel.add(kernel.mul(window[d], op.getStrides()[d]),
                           kernel.add(kernel.mul(tap[d], op.getDilations()[d]), kernel.index(-op.getPads()[d])));
      if (isPadded(d)) {
        // Unsigned: below zero is far above.
        Value isThere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(in[spatialAt + d]));
        i = arith::SelectOp::create(b, loc, isThere, i, kernel.index(0));
        inside = inside ? arith::AndIOp::create(b, loc, inside, isThere).getResult() : isThere;
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
  SmallVector<int64_t> taps = op.getKernelShape();
  Extents pixels{elements.out[0]};
  llvm::append_range(pixels, ArrayRef(elements.out).slice(elements.spatialAt, elements.spatial));
  // In the weights' order, so that their elements lie together: (taps, channel) where packed, or as they are.
  bool isPacked = op.getPackedChannels().has_value(), endsInChannels = isPacked || op.getWeightChannelDim() != 1;
  SmallVector<int64_t> sum(taps);
  sum.insert(endsInChannels ? sum.end() : sum.begin(), elements.inputs);
  GridProduct tiles;
  tiles.batches = elements.groups;
  tiles.m = productOf(pixels);
  tiles.n = elements.outputs;
  tiles.k = product(sum).value();
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
  SmallVector<int64_t> sum = op.getKernelShape();
  sum.push_back(elements.inputs);
  kernel.parallel(productOf(elements.out), {}, [&](Value item, Value) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    SmallVector<Value> at = kernel.delinearize(item, elements.out);
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

/// A pointwise convolution of images of a step, as the product of the matrix of all pixels.
static void emitStepPointwise(ConvOp op, KernelEmitter &kernel, const emit::ConvSpec &spec) {
  const emit::MatmulSpec product = emit::pointwiseMatmul(spec);
  const emit::MatmulBlocking blocking = emit::chooseBlocking(product, kernel.target());
  Extents image = extentsOf(op.getResult());
  image.pop_back();
  const Extent pixels = productOf(image);
  Type element = op.getType().getElementType();
  kernel.parallel(
      pixels.ceilDiv(blocking.rowBlock) * blocking.panels, kernel.work(Rate::Products), [&](Value begin, Value end) {
        OpBuilder &b = kernel.builder();
        emit::MatmulExtents extents;
        extents.m = arith::IndexCastOp::create(b, kernel.loc(), b.getI64Type(), kernel.index(pixels));
        emit::emitMatmul(b, kernel.loc(), product, kernel.target(),
                         {{kernel.pointer(op.getInput()), element}, {kernel.pointer(op.getWeight()), element}, extents},
                         {begin, end}, [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                           kernel.inSink(inner, [&] {
                             SmallVector<Value> at = kernel.delinearize(indices[0], image);
                             at.push_back(indices[1]);
                             kernel.storeLanes(value, at, lanes);
                           });
                         });
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
  const Type element = op.getType().getElementType(), weightElement = typeOf(op.getWeight()).getElementType();
  emit::ConvSpec spec = describeConv(op);
  const ConvSizes sizes(op, spec);
  auto ofStep = [&](const Extent &extent) -> Value {
    if (extent.isConstant())
      return {};
    return arith::IndexCastOp::create(kernel.builder(), kernel.loc(), kernel.builder().getI64Type(),
                                      kernel.index(extent));
  };
  auto emitWith = [&](const auto &form, const Extent &items, auto emitKernel) {
    kernel.parallel(items, kernel.work(Rate::Products), [&](Value begin, Value end) {
      OpBuilder &b = kernel.builder();
      const emit::ConvExtents extents = {ofStep(sizes.batch), ofStep(sizes.inH), ofStep(sizes.inW), ofStep(sizes.outH),
                                         ofStep(sizes.outW)};
      emitKernel(
          b, kernel.loc(), form, kernel.target(),
          emit::ConvOperands{
              {kernel.pointer(op.getInput()), element}, {kernel.pointer(op.getWeight()), weightElement}, extents},
          emit::WorkItems{begin, end}, [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
            kernel.inSink(inner, [&] { kernel.storeLanes(value, indices, lanes); });
          });
    });
  };
  if (op.isWinograd()) {
    const emit::WinogradSpec tiles = describeWinograd(op);
    const emit::WinogradBlocking blocking = emit::chooseBlocking(tiles, kernel.target());
    const Extent count = sizes.batch * sizes.outH.ceilDiv(tiles.outputs) * sizes.outW.ceilDiv(tiles.outputs);
    emitWith(tiles, count.ceilDiv(blocking.tiles) * blocking.groups, emit::emitWinograd);
    return;
  }
  spec.sinkStyle = kernel.sinkStyle();
  if (op.getAlgorithm()) {
    const emit::ShiftAddSpec shifted{spec};
    emitWith(shifted, sizes.batch * sizes.outH.ceilDiv(emit::convRowBlock(shifted.taps())), emit::emitShiftAdd);
  } else if (sizes.areConstant()) {
    emitWith(spec, emit::parallelExtent(spec, kernel.target()), emit::emitConv2d);
  } else if (emit::isPointwise(spec)) {
    emitStepPointwise(op, kernel, spec);
  } else if (emit::isDepthwise(spec)) {
    emitWith(spec, sizes.batch * sizes.outH, emit::emitConv2d);
  } else {
    const Extent rowBlocks = sizes.batch * sizes.outH.ceilDiv(emit::convRowBlock(spec));
    emitWith(spec, rowBlocks * emit::convChannelItems(spec, kernel.target()), emit::emitConv2d);
  }
}

static LogicalResult checkConvKernel(ConvOp op, const emit::VectorTarget &target, const KernelStyle &style) {
  if (style.form == KernelForm::Grids && op.getAlgorithm())
    return op.emitError("has an attribute 'algorithm', and these algorithms exist for CPUs only");
  if (symbolsOf(op)) {
    // Blocks of weights are packed, and loops over taps are emitted, for sizes that are numbers.
    const Extents in = extentsOf(op.getInput());
    const Extent channels = in[op.getLayout() == Layout::channels_last ? in.size() - 1 : 1];
    if (symbolsOf(op.getWeight().getType()) || !channels.isConstant())
      return op->emitOpError("has a kernel for which the weight and the channels must have sizes that are known at "
                             "compile time, give each of these dimensions one size");
  }
  if (style.form == KernelForm::Grids || !op.getPackedChannels() || op.isWinograd() || elementCount(op.getType()) == 0)
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
  kernel.allowsWinograd = emit::allowsWinograd(spec) && isWinogradElement(op.getType().getElementType()) &&
                          isConstantExpression(op.getWeight());
  kernel.allowsShiftAdd = emit::prefersShiftAdd(spec, target);
  kernel.chosen.rows = tile.rows;
  kernel.chosen.vectors = tile.vectors;
  kernel.chosen.rowBlock = emit::convRowBlock(spec) * spec.outW;
}

void sluice::dataflow::attachConvKernels(MLIRContext *context) {
  attach<CheckedKernelModel<emitConvKernel, checkConvKernel, KernelExtents::OfStep>,
         TuningSpaceModel<describeConvSpace>>(context);
}
