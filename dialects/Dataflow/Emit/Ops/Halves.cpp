//===- Halves.cpp - Kernels of products in half precision -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The left-hand side is first copied and converted to bf16. The copy has a border of zeros, and its channels are filled
// up with zeros, so that every window is inside of the copy and reads only its own numbers. The copy is then multiplied
// as in the kernels for bytes (IntegerConv.cpp, IntegerMatmul.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Floats.h"
#include "dialects/Dataflow/Emit/IntegerBytes.h"
#include "dialects/Dataflow/Emit/IntegerProduct.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/HalfShapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {
/// The product that a kernel computes, and where its operands lie.
struct Plan {
  Value input, weight;
  HalfImage image;
  Extent height = 1, width = 1; ///< The operand's.
  int64_t top = 0, left = 0;    ///< Its place in the image.
  int64_t depth;                ///< Channels.
  emit::IntegerPanels panels;
  emit::IntegerSpec spec;
  IntegerSizes sizes;
  Extents pixels; ///< Images, rows and columns of the result.
  SmallVector<int64_t> kernel{1, 1}, strides{1, 1}, dilations{1, 1};
};
} // namespace

static Plan planOf(HalfMatmulOp op) {
  Plan plan;
  plan.input = op.getLhs(), plan.weight = op.getRhs();
  plan.image = imageOf(op);
  plan.height = plan.image.height;
  plan.pixels = {1, plan.height, 1};
  plan.depth = shapeOf(op.getLhs()).back();
  plan.panels = plan.spec.panels = describePanels(op.getPanels());
  plan.sizes.rows = plan.image.height;
  plan.sizes.columns = plan.panels.n;
  plan.sizes.length = plan.panels.length;
  plan.sizes.describe(plan.spec);
  plan.spec.rowStride = plan.image.pitch * kHalfBytes;
  return plan;
}

static Plan planOf(HalfConvOp op) {
  Plan plan;
  plan.input = op.getInput(), plan.weight = op.getWeight();
  plan.image = imageOf(op);
  const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
  plan.height = in[1], plan.width = in[2], plan.depth = in[3].most();
  plan.pixels.assign(out.begin(), out.end() - 1);
  plan.top = op.getPads()[0], plan.left = op.getPads()[1];
  plan.kernel.assign(op.getKernel().begin(), op.getKernel().end());
  plan.strides.assign(op.getStrides().begin(), op.getStrides().end());
  plan.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  plan.panels = describePanels(op.getPanels());
  emit::IntegerSpec &spec = plan.spec;
  spec.panels = plan.panels;
  const int64_t pixel = plan.image.pitch * kHalfBytes;
  const Extent row = plan.image.width * pixel;
  const bool isPointwise = product(plan.kernel) == 1 && product(plan.strides) == 1 &&
                           isSameExtent(plan.image.height, out[1]) && isSameExtent(plan.image.width, out[2]);
  spec.rowStride = plan.strides[1] * pixel;
  IntegerSizes &sizes = plan.sizes;
  if (isPointwise) {
    sizes.rows = productOf(plan.pixels);
  } else {
    sizes.rows = out[2];
    sizes.runs = out[0] * out[1];
    sizes.runsTogether = out[1];
    sizes.outerStride = plan.image.height * row;
    sizes.runStride = row * plan.strides[0];
  }
  sizes.columns = spec.panels.n;
  sizes.length = spec.panels.length;
  sizes.strideH = row * plan.dilations[0];
  sizes.describe(spec);
  spec.tapsH = plan.kernel[0];
  spec.tapsW = plan.kernel[1], spec.strideW = plan.dilations[1] * pixel;
  if (plan.kernel[1] > 1 && plan.dilations[1] == 1) {
    // Neighbouring taps, filled up as they are, are one longer segment.
    spec.panels.segments = plan.kernel[0];
    spec.panels.length = plan.kernel[1] * pixel;
    spec.tapsW = 1;
  }
  return plan;
}

/// The bf16 numbers whose sum is `value`, f32 or a vector of it, as their bits: see emit::splitHalf.
static SmallVector<Value, 2> emitSplit(KernelEmitter &kernel, Value value, int64_t parts) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type half = withElement(value.getType(), b.getI16Type());
  if (parts == 1)
    return {emitBitcast(b, loc, value, b.getBF16Type(), b.getI16Type())};
  Type wide = withElement(value.getType(), b.getI32Type());
  auto number = [&](int64_t bits) { return emitIntConstant(b, loc, wide, bits); };
  auto upper = [&](Value bits) -> Value {
    return arith::TruncIOp::create(b, loc, half, arith::ShRUIOp::create(b, loc, bits, number(16)).getResult());
  };
  Value bits = arith::BitcastOp::create(b, loc, wide, value);
  Value magnitude = arith::AndIOp::create(b, loc, bits, number(0x7fffffff));
  Value below =
      arith::SubIOp::create(b, loc, arith::MaxSIOp::create(b, loc, magnitude, number(1)).getResult(), number(1));
  Value sign = arith::AndIOp::create(b, loc, bits, number(int64_t(-1) << 31));
  Value first =
      arith::OrIOp::create(b, loc, sign, arith::AndIOp::create(b, loc, below, number(int64_t(-1) << 16)).getResult());
  Value rest =
      arith::SubFOp::create(b, loc, value, arith::BitcastOp::create(b, loc, value.getType(), first).getResult());
  return {upper(first), upper(arith::BitcastOp::create(b, loc, wide, rest))};
}

/// Copies the operand to the workspace.
static void emitStage(KernelEmitter &kernel, const Plan &plan) {
  const HalfImage &image = plan.image;
  const int64_t channels = image.channels, pitch = image.pitch, lanes = kernel.target().lanesF32;
  const Extent rows = image.images * image.height, &width = image.width;
  // Columns [before, until) of the padded image are of the operand. One that a step gives has all of its border.
  const int64_t before = std::clamp<int64_t>(plan.left, 0, width.most());
  const Extent until = width.isConstant()
                           ? Extent(std::clamp<int64_t>(plan.left + plan.width.most(), before, width.most()))
                           : plan.width + plan.left;
  const Count elements = product({rows.most(), width.most(), channels});
  const Work work{Rate::Vectors, 4 * elements, (4 + kHalfBytes * plan.panels.parts) * elements};
  kernel.parallel(rows, work, [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    Type half = b.getI16Type(), element = elementOf(plan.input);
    Value zeros = emitIntConstant(b, loc, VectorType::get(lanes, half), 0), zero = emitIntConstant(b, loc, half, 0);
    kernel.loop(begin, end, 1, [&](Value item) {
      Value to = kernel.mul(item, width * pitch);
      auto put = [&](Value at, int64_t part, Value value) {
        Value base = kernel.address(kernel.workspace(), b.getI8Type(), kernel.index(part * image.partBytes));
        emitUnalignedStore(kernel, value, kernel.address(base, half, at));
      };
      auto fill = [&](Value from, const Extent &count) {
        const Extent whole = count / lanes * lanes;
        for (int64_t part = 0; part < plan.panels.parts; ++part) {
          kernel.loop(0, whole, lanes, [&](Value i) { put(kernel.add(from, i), part, zeros); });
          kernel.loop(whole, count, 1, [&](Value i) { put(kernel.add(from, i), part, zero); });
        }
      };
      auto copy = [&](Value from, Value target, const Extent &count) {
        auto move = [&](Value i, int64_t width) {
          Value value = kernel.load(kernel.pointer(plan.input), element, kernel.add(from, i), width);
          for (auto [part, bits] : llvm::enumerate(emitSplit(kernel, value, plan.panels.parts)))
            put(kernel.add(target, i), static_cast<int64_t>(part), bits);
        };
        const Extent whole = count / lanes * lanes;
        kernel.loop(0, whole, lanes, [&](Value i) { move(i, lanes); });
        kernel.loop(whole, count, 1, [&](Value i) { move(i, 1); });
      };
      SmallVector<Value> at = kernel.delinearize(item, {image.images, image.height});
      Value row = arith::SubIOp::create(b, loc, at[1], kernel.index(plan.top));
      auto copyRow = [&] {
        fill(to, before * pitch);
        Value line = kernel.add(kernel.mul(at[0], plan.height), row);
        Value source =
            kernel.mul(kernel.add(kernel.mul(line, plan.width), kernel.index(before - plan.left)), plan.depth);
        Value target = kernel.add(to, kernel.index(before * pitch));
        if (plan.depth == pitch)
          copy(source, target, (until - before) * pitch);
        else
          kernel.loop(0, until - before, 1, [&](Value i) {
            Value pixel = kernel.add(target, kernel.mul(i, pitch));
            copy(kernel.add(source, kernel.mul(i, plan.depth)), pixel, plan.depth);
            fill(kernel.add(pixel, kernel.index(plan.depth)), channels - plan.depth);
          });
        fill(kernel.add(to, kernel.index(until * pitch)), (width - until) * pitch);
      };
      if (plan.top == 0 && (image.height.isConstant() ? image.height.most() <= plan.height.most()
                                                      : isSameExtent(image.height, plan.height)))
        return copyRow();
      // Unsigned: above the operand is far below it.
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, row, kernel.index(plan.height));
      kernel.ifThen(inside, copyRow);
      Value outside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, row, kernel.index(plan.height));
      kernel.ifThen(outside, [&] { fill(to, width * pitch); });
    });
  });
}

static void emitProduct(KernelEmitter &kernel, Plan &plan, ArrayRef<Extent> out) {
  plan.spec.sinkStyle = kernel.sinkStyle();
  const Extent extent = plan.sizes.items(plan.spec, kernel.target());
  const bool isFlat = plan.sizes.runs.is(1);
  // Multiplications of bf16 by tiles take an eighth of f32's time; of f16, four of them take a third.
  const Rate rate = plan.panels.dot != emit::IntegerDot::Tiles ? Rate::Products
                    : plan.panels.parts > 1                    ? Rate::ByteProducts
                                                               : Rate::TileProducts;
  kernel.parallel(extent, kernel.work(rate), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Type byte = b.getI8Type();
    emit::IntegerOperands operands;
    operands.extents = plan.sizes.emitValues(kernel);
    operands.lhs = plan.image.stages ? kernel.workspace() : kernel.pointer(plan.input);
    operands.rhs = kernel.address(kernel.pointer(plan.weight), byte, kernel.index(0));
    operands.lhsPartBytes = plan.image.partBytes;
    operands.hasRoomForTiles = plan.image.stages;
    emit::emitIntegerProduct(b, kernel.loc(), plan.spec, kernel.target(), operands, {begin, end},
                             [&](OpBuilder &inner, Location, Value value, ValueRange indices, int64_t lanes) {
                               kernel.inSink(
                                   inner, [&] { storePixel(kernel, value, indices, out, isFlat, indices[2], lanes); });
                             });
  });
}

/// Element (k, n) of the packed matrix, as f32.
static Value emitPackedWeight(KernelEmitter &kernel, const Plan &plan, Value tap, Value channel, Value n) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const emit::IntegerPanels &panels = plan.panels;
  constexpr int64_t kDepth = 2;
  SmallVector<Value> column = kernel.delinearize(n, {panels.numPanels(), panels.panel});
  SmallVector<Value> within = kernel.delinearize(channel, {panels.steps(), kDepth});
  Value step = kernel.add(kernel.mul(tap, panels.steps()), within[0]);
  Value at = kernel.add(kernel.mul(kernel.add(kernel.mul(step, panels.panel), column[1]), kDepth), within[1]);
  at = kernel.add(kernel.mul(at, kHalfBytes), kernel.mul(column[0], panels.panelBytes()));
  Value sum;
  for (int64_t part = 0; part < panels.parts; ++part) {
    Value pointer = kernel.address(kernel.pointer(plan.weight), b.getI8Type(),
                                   kernel.add(at, kernel.index(part * panels.weightBytes())));
    Value value = emitLoad(b, loc, pointer, b.getBF16Type(), /*lanes=*/1);
    sum = sum ? arith::AddFOp::create(b, loc, sum, value).getResult() : value;
  }
  return sum;
}

/// One sum a result element: for any target.
static void emitPlain(KernelEmitter &kernel, const Plan &plan, ArrayRef<Extent> out) {
  Type element = elementOf(plan.input);
  kernel.parallel(productOf(out), kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    OpBuilder &b = kernel.builder();
    Location loc = kernel.loc();
    kernel.loopItems(begin, end, out, [&](ArrayRef<Value> at) {
      Value pixel = kernel.linearize(ValueRange(at).drop_back(), out.drop_back());
      SmallVector<Value> position = kernel.delinearize(pixel, plan.pixels);
      const SmallVector<int64_t> sum{plan.kernel[0], plan.kernel[1], plan.depth};
      Value zero = emitConstant(b, loc, b.getF32Type(), 0);
      Value total =
          kernel.reduce(kernel.index(0), kernel.index(product(sum).value()), 1, zero, [&](Value k, ValueRange sums) {
            SmallVector<Value> term = kernel.delinearize(k, sum);
            SmallVector<Value, 2> from;
            Value inside;
            const int64_t pads[] = {plan.top, plan.left};
            const Extent extents[] = {plan.height, plan.width};
            for (size_t d = 0; d < 2; ++d) {
              Value i =
                  kernel.add(kernel.mul(position[1 + d], plan.strides[d]), kernel.mul(term[d], plan.dilations[d]));
              i = kernel.add(i, kernel.index(-pads[d]));
              Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, kernel.index(extents[d]));
              from.push_back(arith::SelectOp::create(b, loc, in, i, kernel.index(0)));
              inside = inside ? arith::AndIOp::create(b, loc, inside, in).getResult() : in;
            }
            Value line = kernel.add(kernel.mul(position[0], plan.height), from[0]);
            Value place = kernel.add(kernel.mul(line, plan.width), from[1]);
            Value x =
                kernel.load(kernel.pointer(plan.input), element, kernel.add(kernel.mul(place, plan.depth), term[2]));
            if (element.isF32())
              x = emitRoundTrip(b, loc, b.getBF16Type(), x);
            x = arith::SelectOp::create(b, loc, inside, x, zero);
            Value tap = kernel.add(kernel.mul(term[0], plan.kernel[1]), term[1]);
            Value w = emitPackedWeight(kernel, plan, tap, term[2], at.back());
            Value addend = arith::MulFOp::create(b, loc, x, w);
            return SmallVector<Value>{arith::AddFOp::create(b, loc, sums[0], addend)};
          })[0];
      kernel.store(total, at);
    });
  });
}

template <typename OpTy>
static void emitHalfKernel(OpTy op, KernelEmitter &kernel) {
  if (elementCount(op.getType()) == 0)
    return;
  Plan plan = planOf(op);
  const Extents out = extentsOf(op.getResult());
  if (kernel.inGrids() || !canRunPanels(kernel, plan.panels))
    return emitPlain(kernel, plan, out);
  if (plan.image.stages)
    emitStage(kernel, plan);
  emitProduct(kernel, plan, out);
}

static LogicalResult checkHalfConvKernel(HalfConvOp op, const emit::VectorTarget &, const KernelStyle &) {
  return checkCropped(op, ArrayRef(extentsOf(op.getInput())).slice(1, 2), op.getPads());
}

void sluice::dataflow::attachHalvesKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<KernelModel<emitHalfKernel<HalfMatmulOp>, kOfStep>,
         CheckedKernelModel<emitHalfKernel<HalfConvOp>, checkHalfConvKernel, kOfStep>>(context);
}
