//===- IntegerConv.cpp - Kernels of convolutions of bytes -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// With panels, a convolution is a product whose rows are windows: each row of taps is a sequence of neighbouring bytes
// of the image. An image is first copied if it needs padding, or if it is not stored as unsigned bytes. The copy is
// padded with the zero point, so that every window is inside.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/GridProduct.h"
#include "dialects/Dataflow/Emit/IntegerBytes.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {
/// The product that a CPU's kernel computes, and where its operands lie.
struct Plan {
  emit::IntegerSpec spec;
  IntegerSizes sizes;
  int64_t groups; ///< Products of their own.
  int64_t inputs; ///< Elements of A between groups.
  IntegerConvImage image;
};
} // namespace

static Plan planOf(IntegerConvOp op) {
  Plan plan;
  plan.image = imageOf(op);
  const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  SmallVector<int64_t> kernel = op.getKernelShape();
  emit::IntegerSpec &spec = plan.spec;
  spec.panels = describePanels(*op.getPanels());
  spec.isDepthwise = op.isDepthwise();
  const int64_t channels = in[3].most();
  plan.groups = spec.isDepthwise ? int64_t(1) : static_cast<int64_t>(op.getGroups());
  plan.inputs = channels / plan.groups;
  const Extent row = plan.image.width * channels;
  const bool isPointwise = kernel[0] == 1 && kernel[1] == 1 && strides[0] == 1 && strides[1] == 1 &&
                           isSameExtent(plan.image.height, out[1]) && isSameExtent(plan.image.width, out[2]);
  spec.rowStride = strides[1] * channels;
  IntegerSizes &sizes = plan.sizes;
  if (isPointwise) {
    sizes.rows = out[0] * out[1] * out[2];
  } else {
    sizes.rows = out[2];
    sizes.runs = out[0] * out[1];
    sizes.runsTogether = out[1];
    sizes.outerStride = plan.image.height * row;
    sizes.runStride = row * strides[0];
  }
  sizes.columns = spec.panels.n;
  sizes.length = spec.panels.length;
  spec.tapsH = kernel[0];
  spec.tapsW = spec.panels.segments / kernel[0];
  sizes.strideH = row * dilations[0];
  spec.strideW = dilations[1] * channels;
  sizes.describe(spec);
  return plan;
}

/// The input's zero point as the kernel's unsigned bytes have it; null where it is 0.
static Value inputZero(IntegerConvOp op, KernelEmitter &kernel) {
  OpBuilder &b = kernel.builder();
  const bool isUnsigned = typeOf(op.getInput()).getElementType().isUnsignedInteger();
  Value zero = op.getInputZeroPoint();
  if (!zero && isUnsigned)
    return {};
  Value shift = emitIntConstant(b, kernel.loc(), b.getI32Type(), isUnsigned ? 0 : 128);
  if (!zero)
    return shift;
  SmallVector<Value> first(typeOf(zero).getRank(), kernel.index(0));
  return arith::AddIOp::create(b, kernel.loc(), kernel.element(zero, first), shift);
}

/// Copies the image, padded with its zero point.
static void emitStage(IntegerConvOp op, KernelEmitter &kernel, const Plan &plan) {
  const Extents in = extentsOf(op.getInput());
  const Extent &width = plan.image.width, rows = in[0] * plan.image.height;
  const int64_t channels = in[3].most(), top = op.getPads()[0], left = op.getPads()[1];
  const emit::IntegerDot dot = plan.spec.panels.dot;
  const int64_t bytes = emit::lhsBytes(dot);
  // The position in a dimension of extent 1 is always 0, so a run of pixels of one channel lies along their row.
  const size_t along = channels == 1 ? 2 : 3;
  // Columns [before, until) of the padded image are of the image. One that a step gives has all of its border.
  const int64_t before = std::clamp<int64_t>(left, 0, width.most());
  const Extent until =
      width.isConstant() ? Extent(std::clamp<int64_t>(left + in[2].most(), before, width.most())) : in[2] + left;
  kernel.parallel(
      rows, kernel.workBeside(op, product({bytes + 1, rows.most(), width.most(), channels})),
      [&](Value begin, Value end) {
        OpBuilder &b = kernel.builder();
        Location loc = kernel.loc();
        Type type = bytes == 2 ? b.getI16Type() : b.getI8Type();
        const int64_t lanes = 2 * kernel.target().lanesF32;
        Value zero = inputZero(op, kernel);
        zero = zero ? arith::TruncIOp::create(b, loc, type, zero).getResult() : emitIntConstant(b, loc, type, 0);
        Value zeros = vector::BroadcastOp::create(b, loc, VectorType::get(lanes, type), zero);
        kernel.loop(begin, end, 1, [&](Value item) {
          SmallVector<Value> at = kernel.delinearize(item, {in[0], plan.image.height});
          Value to = kernel.address(kernel.workspace(), type, kernel.mul(item, width * channels));
          auto fill = [&](const Extent &from, const Extent &count) {
            const Extent whole = from + count / lanes * lanes;
            kernel.loop(from, whole, lanes,
                        [&](Value i) { emitUnalignedStore(kernel, zeros, kernel.address(to, type, i)); });
            kernel.loop(whole, from + count, 1,
                        [&](Value i) { emitUnalignedStore(kernel, zero, kernel.address(to, type, i)); });
          };
          Value row = arith::SubIOp::create(b, loc, at[1], kernel.index(top));
          auto copy = [&] {
            fill(0, before * channels);
            auto copyFrom = [&](Value column, Value target, const Extent &count) {
              const ByteRun run{op.getInput(), {at[0], row, column, kernel.index(0)}, along};
              emitStageBytes(kernel, run, count, count, dot, target);
            };
            Value first = kernel.address(to, type, kernel.index(before * channels));
            // The pixels of an argument are neighbours in memory.
            if (kernel.isArgument(op.getInput()))
              copyFrom(kernel.index(before - left), first, (until - before) * channels);
            else
              kernel.loop(0, until - before, 1, [&](Value i) {
                copyFrom(kernel.add(i, kernel.index(before - left)),
                         kernel.address(first, type, kernel.mul(i, channels)), channels);
              });
            fill(until * channels, (width - until) * channels);
          };
          // Unsigned: above the image is far below it.
          Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row, kernel.index(in[1]));
          kernel.ifThen(inside, copy);
          Value outside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, row, kernel.index(in[1]));
          kernel.ifThen(outside, [&] { fill(0, width * channels); });
        });
      });
}

static void emitProduct(IntegerConvOp op, KernelEmitter &kernel, Plan &plan) {
  plan.spec.sinkStyle = kernel.sinkStyle();
  const emit::IntegerDot dot = plan.spec.panels.dot;
  const Extent perGroup = plan.sizes.items(plan.spec, kernel.target());
  const Extents out = extentsOf(op.getResult());
  const bool isFlat = plan.sizes.runs.is(1);
  kernel.parallel(perGroup * plan.groups, kernel.work(rateOf(dot)), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    const emit::IntegerExtents extents = plan.sizes.emitValues(kernel);
    auto emitOne = [&](Value group, Value lo, Value hi) {
      Type type = emit::lhsBytes(dot) == 2 ? b.getI16Type() : b.getI8Type();
      emit::IntegerOperands operands;
      operands.extents = extents;
      operands.lhs = kernel.address(plan.image.stages ? kernel.workspace() : kernel.pointer(op.getInput()), type,
                                    kernel.mul(group, plan.inputs));
      operands.hasRoomForTiles = plan.image.stages;
      operands.rhs =
          kernel.address(kernel.pointer(op.getWeight()), b.getI8Type(), kernel.mul(group, plan.spec.panels.bytes()));
      if (Value zero = inputZero(op, kernel))
        operands.lhsZero = [zero](OpBuilder &, Location, Value, Value) { return zero; };
      emit::emitIntegerProduct(b, loc, plan.spec, kernel.target(), operands, {lo, hi},
                               [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                                 kernel.inSink(inner, [&] {
                                   Value filter = kernel.add(kernel.mul(group, plan.spec.panels.n), indices[2]);
                                   storePixel(kernel, value, indices, out, isFlat, filter, lanes);
                                 });
                               });
    };
    if (plan.groups == 1)
      return emitOne(kernel.index(0), begin, end);
    kernel.loopParts(begin, end, perGroup, [&](Value group, Value lo, Value hi) { emitOne(group, lo, hi); });
  });
}

namespace {
/// Elements less their zero points, as i32, of any rank and layout.
struct Elements {
  IntegerConvOp op;
  KernelEmitter &kernel;
  Extents in = extentsOf(op.getInput());
  bool last = op.getLayout() == Layout::channels_last;
  size_t spatial = in.size() - 2, spatialAt = last ? 1 : 2;
  int64_t groups = static_cast<int64_t>(op.getGroups());
  int64_t inputs = in[op.getChannelDim()].most() / groups, outputs = op.getOutputChannels() / groups;
  SmallVector<int64_t> window = op.getKernelShape();

  SmallVector<Value> at(Value image, Value channel, ValueRange position) {
    SmallVector<Value> at{image};
    llvm::append_range(at, position);
    at.insert(last ? at.end() : at.begin() + 1, channel);
    return at;
  }
  /// 0 in the padding.
  Value input(Value image, Value group, Value channel, ValueRange position, ValueRange tap) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Value inside;
    SmallVector<Value> from;
    for (size_t d = 0; d < spatial; ++d) {
      Value i = kernel.add(kernel.mul(position[d], op.getStrides()[d]),
                           kernel.add(kernel.mul(tap[d], op.getDilations()[d]), kernel.index(-op.getPads()[d])));
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(this->in[spatialAt + d]));
      from.push_back(arith::SelectOp::create(b, loc, in, i, kernel.index(0)));
      inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
    }
    Value byte = kernel.element(op.getInput(), at(image, kernel.add(kernel.mul(group, inputs), channel), from));
    Value value = emitWideByte(kernel, byte, typeOf(op.getInput()).getElementType());
    if (Value zero = op.getInputZeroPoint()) {
      SmallVector<Value> first(typeOf(zero).getRank(), kernel.index(0));
      value = arith::SubIOp::create(b, loc, value, kernel.element(zero, first));
    }
    return arith::SelectOp::create(b, loc, inside, value, emitIntConstant(b, loc, b.getI32Type(), 0));
  }
  Value weight(Value group, Value output, Value channel, ValueRange tap) {
    OpBuilder &b = kernel.builder();
    if (op.getPanels()) {
      Value k = kernel.linearize(tap, window);
      emit::IntegerPanels panels = describePanels(*op.getPanels());
      if (op.isDepthwise())
        return emitPackedElement(kernel, op.getWeight(), panels, kernel.index(0), k, group);
      k = kernel.add(kernel.mul(k, inputs), channel);
      return emitPackedElement(kernel, op.getWeight(), panels, group, k, output);
    }
    Value filter = kernel.add(kernel.mul(group, outputs), output);
    SmallVector<Value> at{filter, channel};
    llvm::append_range(at, tap);
    Value value = emitWideByte(kernel, kernel.element(op.getWeight(), at), typeOf(op.getWeight()).getElementType());
    Value zero = op.getWeightZeroPoint();
    if (!zero)
      return value;
    SmallVector<Value> of(typeOf(zero).getRank(), kernel.index(0));
    if (elementCount(zero.getType()) != 1)
      of.back() = filter;
    return arith::SubIOp::create(b, kernel.loc(), value, kernel.element(zero, of));
  }
};
} // namespace

/// One sum a result element: for any target, rank and layout.
static void emitPlain(IntegerConvOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  const Extents out = extentsOf(op.getResult());
  SmallVector<int64_t> sum(elements.window);
  sum.push_back(elements.inputs);
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
      SmallVector<Value> channel = kernel.delinearize(at[op.getChannelDim()], {elements.groups, elements.outputs});
      ValueRange position = ValueRange(at).drop_front(elements.spatialAt).take_front(elements.spatial);
      Value zero = emitIntConstant(b, loc, b.getI32Type(), 0);
      Value total =
          kernel.reduce(kernel.index(0), kernel.index(product(sum).value()), 1, zero, [&](Value k, ValueRange sums) {
            SmallVector<Value> term = kernel.delinearize(k, sum);
            ValueRange tap = ValueRange(term).drop_back();
            Value x = elements.input(at[0], channel[0], term.back(), position, tap);
            Value w = elements.weight(channel[0], channel[1], term.back(), tap);
            return SmallVector<Value>{
                arith::AddIOp::create(b, loc, sums[0], arith::MulIOp::create(b, loc, x, w).getResult())};
          })[0];
      kernel.store(total, at);
    });
  });
}

/// A product of all pixels' windows and the filters, for each group.
static void emitGrid(IntegerConvOp op, KernelEmitter &kernel) {
  Elements elements{op, kernel};
  const Extents out = extentsOf(op.getResult());
  Extents pixels{out[0]};
  llvm::append_range(pixels, ArrayRef(out).slice(elements.spatialAt, elements.spatial));
  SmallVector<int64_t> sum(elements.window);
  sum.push_back(elements.inputs);
  GridProduct tiles;
  tiles.batches = elements.groups;
  tiles.m = productOf(pixels);
  tiles.n = elements.outputs;
  tiles.k = product(sum).value();
  tiles.type = kernel.builder().getI32Type();
  tiles.lhs.alongK = elements.last;
  auto readInput = [&](Value group, Value m, Value k) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels), term = kernel.delinearize(k, sum);
    return elements.input(pixel[0], group, term.back(), ValueRange(pixel).drop_front(), ValueRange(term).drop_back());
  };
  auto readWeight = [&](Value group, Value n, Value k) {
    SmallVector<Value> term = kernel.delinearize(k, sum);
    return elements.weight(group, n, term.back(), ValueRange(term).drop_back());
  };
  auto sink = [&](Value group, Value m, Value n, Value value) {
    SmallVector<Value> pixel = kernel.delinearize(m, pixels);
    Value filter = kernel.add(kernel.mul(group, elements.outputs), n);
    kernel.store(value, elements.at(pixel[0], filter, ValueRange(pixel).drop_front()));
  };
  tiles.lhs.read = readInput;
  tiles.rhs.read = readWeight;
  tiles.sink = sink;
  emitGridProduct(kernel, tiles);
}

static void emitIntegerConvKernel(IntegerConvOp op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  const bool isEmpty = product(op.getKernelShape()) * shapeOf(op.getInput())[op.getChannelDim()] == 0;
  if (kernel.inGrids() && !isEmpty && !hasFewFilters(static_cast<int64_t>(op.getGroups()), op.getOutputChannels()))
    return emitGrid(op, kernel);
  if (kernel.inGrids() || !op.getPanels() || !canRunPanels(kernel, describePanels(*op.getPanels())))
    return emitPlain(op, kernel);
  Plan plan = planOf(op);
  if (plan.image.stages)
    emitStage(op, kernel, plan);
  emitProduct(op, kernel, plan);
}

static LogicalResult checkIntegerConvKernel(IntegerConvOp op, const emit::VectorTarget &, const KernelStyle &) {
  const Extents in = extentsOf(op.getInput());
  const int64_t channels = op.getChannelDim(), spatial = static_cast<int64_t>(in.size()) - 2;
  if (!in[channels].isConstant() || !extentsOf(op.getWeight()).front().isConstant())
    return op->emitOpError("has a kernel for which the numbers of channels and filters must be known at compile time, "
                           "give each of these dimensions one size");
  return checkCropped(op, ArrayRef(in).slice(channels == 1 ? 2 : 1, spatial), op.getPads());
}

void sluice::dataflow::attachIntegerConvKernels(MLIRContext *context) {
  attach<CheckedKernelModel<emitIntegerConvKernel, checkIntegerConvKernel, KernelExtents::OfStep>>(context);
}
