//===- AssignLayout.cpp - Channels-last images, packed weights ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/AssignLayout.h"
#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/Gradient/Gradient.h"
#include "dialects/Dataflow/IR/ConvShape.h"
#include "passes/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_ASSIGNLAYOUTPASS
#include "passes/Passes.h.inc"
} // namespace sluice

/// An operator that takes the place of another is tuned as it was.
static void copyTuning(Operation *from, Value to) {
  DataflowDialect::TuningAttrHelper helper(from->getContext());
  if (auto tuning = helper.getAttr(from))
    helper.setAttr(to.getDefiningOp(), tuning);
}

/// Types the image and panel kernels accumulate in f32.
static bool isKernelElement(Type type) { return type.isF32() || type.isF16() || type.isBF16(); }

namespace {

/// Signals are images of height 1.
struct ConvToImage : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput()), weight = typeOf(op.getWeight());
    if (input.getRank() != 3 || op.isLaidOut())
      return failure();
    const Value flatWeight = reshape(b, op.getWeight(), imageOfSignal(weight));
    const Value flatInput = reshape(b, op.getInput(), imageOfSignal(input));
    Value conv =
        ConvOp::create(b, op.getLoc(), flatInput, flatWeight, ArrayRef<int64_t>{1, op.getStrides()[0]},
                       ArrayRef<int64_t>{0, op.getPads()[0], 0, op.getPads()[1]},
                       ArrayRef<int64_t>{1, op.getDilations()[0]}, op.getGroups(), Layout::channels_first,
                       IntegerAttr(), DenseI64ArrayAttr(), op.getLibraryAttr(), ConvAlgorithmAttr(), FloatAttr());
    copyTuning(op, conv);
    b.replaceOp(op, reshape(b, conv, extentsOf(op.getResult())));
    return success();
  }
};

/// Which convolutions go by Winograd's algorithm.
struct WinogradChoice {
  bool isAllowed = false, isWanted = false;
  std::string half = "none"; ///< The instructions that multiply halves, as the option names them.
  double tolerance = 0;      ///< The largest error bound of one convolution.

  /// Whether it takes less time over a range of sizes: the mean of what it gains at the bounds.
  static bool gainsOverRange(ConvOp op, const emit::WinogradSpec &tiles, const emit::VectorTarget &target) {
    emit::WinogradSpec least = tiles;
    least.image = describeLeastConv(op);
    if (least.tiles() == 0)
      return true;
    const double most = emit::winogradWork(tiles, target) / emit::directWork(tiles.image, target);
    return most * emit::winogradWork(least, target) / emit::directWork(least.image, target) <= 1;
  }

  std::optional<emit::WinogradSpec> choose(ConvOp op, const emit::VectorTarget &target) const {
    // Far beyond what any memory holds, estimates would overflow.
    auto isEstimated = [](Type type) {
      const int64_t count = elementCount(type);
      return count > 0 && count < int64_t(1) << 46;
    };
    const Type element = op.getType().getElementType();
    const bool isMultipliedAsHalf = element.isF16() ? half == "tiles" : element.isBF16() && half != "none";
    if (!isAllowed || op.getLibrary() || op.isLaidOut() || shapeOf(op.getInput()).size() != 4 ||
        !isWinogradElement(element) || isMultipliedAsHalf || !isConstantExpression(op.getWeight()) ||
        !isEstimated(op.getType()) || !isEstimated(op.getInput().getType()) || !isEstimated(op.getWeight().getType()))
      return std::nullopt;
    const emit::ConvSpec spec = describeConv(op);
    if (!isWanted && spec.tuning.algorithm == sluice::TunedAlgorithm::Direct)
      return std::nullopt;
    // What was measured to be faster must be exact enough too, in this model.
    if (!isWanted && spec.tuning.algorithm != sluice::TunedAlgorithm::Any && emit::allowsWinograd(spec)) {
      const int64_t outputs = spec.tuning.algorithm == sluice::TunedAlgorithm::Winograd2 ? 2 : 4;
      emit::WinogradSpec tuned = emit::describeWinograd(spec, outputs, target);
      if (emit::winogradErrorBound(tuned) <= tolerance)
        return tuned;
    }
    std::optional<emit::WinogradSpec> chosen = emit::chooseWinograd(spec, target, tolerance, isWanted);
    if (chosen && !isWanted && symbolsOf(op) && !gainsOverRange(op, *chosen, target))
      return std::nullopt;
    return chosen;
  }
};

/// Two digits are enough of an estimate.
static double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return std::strtod(text, nullptr);
}

/// conv -> transpose back(conv channels_last packed (transpose there, pack)). A library
/// takes the weight with its channels last too, and not packed.
struct PackConv : OpRewritePattern<ConvOp> {
  PackConv(MLIRContext *context, const emit::VectorTarget &target, bool dynamic, const WinogradChoice &winograd)
      : OpRewritePattern(context), target(target), dynamic(dynamic), winograd(winograd) {}
  emit::VectorTarget target;
  bool dynamic;
  WinogradChoice winograd;

  struct Weight {
    Value value;
    ConvAlgorithmAttr algorithm;
    FloatAttr bound;
  };

  Weight packWeight(ConvOp op, OpBuilder &b) const {
    Location loc = op.getLoc();
    if (op.getLibrary())
      return {b.createOrFold<TransposeOp>(loc, op.getWeight(), ArrayRef(kToLast)), nullptr, nullptr};
    auto named = [&](ConvAlgorithm algorithm) { return ConvAlgorithmAttr::get(b.getContext(), algorithm); };
    emit::ConvSpec spec = describeConv(op);
    std::optional<emit::WinogradSpec> tiles = winograd.choose(op, target);
    const bool shiftsAndAdds = winograd.isAllowed && spec.tuning.algorithm == sluice::TunedAlgorithm::Any &&
                               emit::prefersShiftAdd(spec, target) &&
                               emit::prefersShiftAdd(describeLeastConv(op), target);
    if (tiles && (winograd.isWanted || !shiftsAndAdds)) {
      ConvAlgorithmAttr algorithm = named(tiles->outputs == 2 ? ConvAlgorithm::winograd2 : ConvAlgorithm::winograd4);
      Value filters = op.getWeight();
      if (!typeOf(filters).getElementType().isF32())
        filters = CastOp::create(b, loc, typeOf(filters).clone(b.getF32Type()), filters);
      Value packed = PackWinogradWeightOp::create(b, loc, filters, algorithm.getValue(), tiles->depth, tiles->panel);
      return {packed, algorithm, b.getF64FloatAttr(shortened(emit::winogradErrorBound(*tiles)))};
    }
    auto pack = [&](Value weight, const emit::ConvSpec &of) -> Value {
      return PackConvWeightOp::create(b, loc, weight, op.getGroups(), emit::convOutputBlock(of, target),
                                      emit::isDepthwise(of));
    };
    if (!shiftsAndAdds)
      return {pack(op.getWeight(), spec), nullptr, nullptr};
    const emit::ConvSpec taps = emit::ShiftAddSpec{spec}.taps();
    Value widthFirst = b.createOrFold<TransposeOp>(loc, op.getWeight(), ArrayRef<int64_t>{3, 0, 1, 2});
    return {pack(reshape(b, widthFirst, {taps.outC, taps.inC, taps.kernelH, 1}), taps), named(ConvAlgorithm::shift_add),
            nullptr};
  }

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    auto input = typeOf(op.getInput());
    if (input.getRank() != 4 || op.isLaidOut() || !isKernelElement(input.getElementType()) ||
        !(dynamic || isConstantExpression(op.getWeight())) || elementCount(op.getType()) == 0 ||
        elementCount(input) == 0)
      return failure();
    Location loc = op.getLoc();
    const auto [weight, algorithm, bound] = packWeight(op, b);
    Value image = b.createOrFold<TransposeOp>(loc, op.getInput(), ArrayRef(kToLast));
    const bool isPacked = !op.getLibrary();
    auto channels = isPacked ? b.getI64IntegerAttr(op.getOutputChannels()) : IntegerAttr();
    auto kernel = isPacked ? b.getDenseI64ArrayAttr(op.getKernelShape()) : DenseI64ArrayAttr();
    Value conv = ConvOp::create(b, loc, image, weight, op.getStrides(), op.getPads(), op.getDilations(), op.getGroups(),
                                Layout::channels_last, channels, kernel, op.getLibraryAttr(), algorithm, bound,
                                isPacked ? Layout::channels_first : Layout::channels_last);
    copyTuning(op, conv);
    b.replaceOpWithNewOp<TransposeOp>(op, conv, ArrayRef(kToFirst));
    return success();
  }
};

/// A transposed convolution whose kernel reaches over whole strides: result row s * q + r is the sum over t of input
/// row q - t by tap s * t + r. So a convolution with every s-th tap computes the results of each remainder r as
/// channels of their own, and they are put side by side: Shi et al., "Is the deconvolution layer the same as a
/// convolutional layer?" (2016). No zeros are multiplied.
struct ConvTransposeToPhases : OpRewritePattern<ConvTransposeOp> {
  ConvTransposeToPhases(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  /// One dimension: taps of a phase's kernel, and the result before it is cut.
  struct Axis {
    Extent in = 1, out = 1;
    int64_t kernel = 1, stride = 1, low = 0;

    int64_t taps() const { return static_cast<int64_t>(llvm::divideCeil(kernel, stride)); }
    Extent positions() const { return in + (taps() - 1); }
    bool isWhole() const {
      if (kernel < stride || low < 0)
        return false;
      auto isEnough = [&](int64_t inputs, int64_t outputs) {
        return (Count(inputs) + (taps() - 1)) * stride >= Count(low) + outputs;
      };
      const SymbolsAttr symbols = in.symbols() ? in.symbols() : out.symbols();
      if (!symbols)
        return isEnough(in.most(), out.most());
      return llvm::all_of(samplePoints(symbols),
                          [&](const Point &point) { return isEnough(in.at(point), out.at(point)); });
    }
  };

  LogicalResult matchAndRewrite(ConvTransposeOp op, PatternRewriter &b) const override {
    const Extents in = extentsOf(op.getInput()), out = extentsOf(op.getResult());
    ArrayRef<int64_t> kernel = shapeOf(op.getWeight());
    const size_t spatial = op.getStrides().size();
    if (spatial > 2 || symbolsOf(op.getWeight().getType()) || op.getLibrary() || op.getGroups() != 1 ||
        !isKernelElement(op.getType().getElementType()) || elementCount(op.getType()) == 0 ||
        elementCount(op.getInput().getType()) == 0)
      return failure();
    // A signal is an image of height 1.
    Axis y, x;
    for (Axis *axis : {&y, &x}) {
      if (spatial == 1 && axis == &y)
        continue;
      const size_t d = spatial - (axis == &y ? 2 : 1);
      *axis = {in[2 + d], out[2 + d], kernel[2 + d], op.getStrides()[d], op.getPadsLow()[d]};
    }
    const int64_t filters = kernel[1], phases = Count(y.stride) * x.stride * filters;
    if (!y.isWhole() || !x.isWhole() || y.stride * x.stride == 1 || !llvm::isInt<31>(phases) ||
        llvm::any_of(op.getDilations(), [](int64_t dilation) { return dilation != 1; }))
      return failure();
    TensorBuilder build(b, op.getLoc());
    auto typeOfExtents = [&](ArrayRef<Extent> extents) { return tensorOf(extents, op.getType().getElementType()); };
    auto reshape = [&](Value value, ArrayRef<Extent> extents) -> Value {
      const RankedTensorType type = typeOfExtents(extents);
      return typeOf(value) == type ? value : build.create<ReshapeOp>({value}, {}, {type});
    };
    Value image = reshape(op.getInput(), {in[0], in[1], y.in, x.in});
    Value weight = phaseWeight(build, op.getWeight(), {kernel[0], filters, y.kernel, x.kernel}, y, x);
    Value sums = build.create<ConvOp>({image, weight},
                                      {build.list("strides", {1, 1}), build.list("dilations", {1, 1}),
                                       build.list("pads", {y.taps() - 1, x.taps() - 1, y.taps() - 1, x.taps() - 1})});
    Value last = build.transpose(sums, kToLast);
    Value split = reshape(last, {in[0], y.positions(), x.positions(), y.stride, x.stride, filters});
    Value joined = reshape(build.transpose(split, {0, 1, 3, 2, 4, 5}),
                           {in[0], y.positions() * y.stride, x.positions() * x.stride, filters});
    Value cut =
        build.create<SliceOp>({joined}, {build.list("starts", {0, y.low, x.low, 0}), build.list("steps", {1, 1, 1, 1})},
                              {typeOfExtents({in[0], y.out, x.out, filters})});
    b.replaceOp(op, reshape(build.transpose(cut, kToFirst), out));
    return success();
  }

  /// [C, M, KH, KW] -> [strideH * strideW * M, C, tapsH, tapsW], taps in reverse.
  static Value phaseWeight(TensorBuilder &build, Value weight, ArrayRef<int64_t> dims, const Axis &y, const Axis &x) {
    const Dims whole{dims[0], dims[1], y.taps() * y.stride, x.taps() * x.stride};
    Value padded = build.reshape(weight, dims);
    const Type element = typeOf(weight).getElementType();
    if (ArrayRef(whole) != dims)
      padded = build.create<PadOp>({padded, build.splat(element, 0)},
                                   {build.attribute("mode", PadModeAttr::get(build.context(), PadMode::constant)),
                                    build.list("low", {0, 0, 0, 0})},
                                   {build.type(element, whole)});
    Value split = build.reshape(padded, {dims[0], dims[1], y.taps(), y.stride, x.taps(), x.stride});
    const Dims joined{y.stride * x.stride * dims[1], dims[0], y.taps(), x.taps()};
    Value taps = build.reshape(build.transpose(split, {3, 5, 1, 0, 2, 4}), joined);
    return build.slice(taps, {0, 0, y.taps() - 1, x.taps() - 1}, {1, 1, -1, -1}, joined);
  }
};

/// A transposed convolution as the convolution of its input, spread with zeros
/// between the elements, with the weight turned around.
struct ConvTransposeToConv : OpRewritePattern<ConvTransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvTransposeOp op, PatternRewriter &b) const override {
    ArrayRef<int64_t> in = typeOf(op.getInput()).getShape(), weight = typeOf(op.getWeight()).getShape();
    ArrayRef<int64_t> out = op.getType().getShape();
    size_t spatial = op.getStrides().size();
    if (spatial > 2 || symbolsOf(op) || !isKernelElement(op.getType().getElementType()) ||
        elementCount(op.getType()) == 0 || elementCount(op.getInput().getType()) == 0)
      return failure();
    TensorBuilder build(b, op.getLoc());
    // [C, M/groups, kernel...] -> [M, C/groups, kernel...], taps in reverse.
    auto groups = static_cast<int64_t>(op.getGroups());
    Dims split{groups, weight[0] / groups, weight[1]}, exchange{0, 2, 1};
    Dims joined{weight[1] * groups, weight[0] / groups}, from{0, 0}, by{1, 1};
    bool isPointwise = true;
    for (size_t d = 0; d < spatial; ++d) {
      int64_t taps = weight[2 + d];
      split.push_back(taps);
      exchange.push_back(static_cast<int64_t>(3 + d));
      joined.push_back(taps);
      from.push_back(taps - 1);
      by.push_back(-1);
      isPointwise &= taps == 1;
    }
    // Where a tap is all of the kernel, the zeros can come last.
    Dims none(2 + spatial, 0), steps{1, 1}, cut{0, 0}, spread(in), pads, high, starts{0, 0};
    for (size_t d = 0; d < spatial; ++d) {
      int64_t reach = op.getDilations()[d] * (weight[2 + d] - 1);
      steps.push_back(op.getStrides()[d]);
      starts.push_back(-op.getPadsLow()[d]);
      spread[2 + d] = (in[2 + d] - 1) * op.getStrides()[d] + 1;
      int64_t low = reach - op.getPadsLow()[d];
      cut.push_back(std::min<int64_t>(low, 0));
      pads.push_back(std::max<int64_t>(low, 0));
      spread[2 + d] += cut.back();
      int64_t after = out[2 + d] + reach - spread[2 + d] - pads.back();
      spread[2 + d] += std::min<int64_t>(after, 0);
      high.push_back(std::max<int64_t>(after, 0));
      // A pattern that fails must not have made anything, or it is tried again without end: conv takes 32 bits of
      // padding.
      if (spread[2 + d] <= 0 || !llvm::isInt<32>(pads.back()) || !llvm::isInt<32>(high.back()))
        return failure();
    }
    pads.append(high);
    Value turned = build.reshape(build.transpose(build.reshape(op.getWeight(), split), exchange), joined);
    if (!isPointwise)
      turned = build.slice(turned, from, by, joined);
    auto convolve = [&](Value x, ArrayRef<int64_t> padding) {
      Dims ones(spatial, 1);
      return build.create<ConvOp>({x, turned},
                                  {build.list("strides", ones), build.list("pads", padding),
                                   build.list("dilations", op.getDilations()), build.integer("groups", groups)});
    };
    Value result;
    if (isPointwise) {
      result = unslice(build, convolve(op.getInput(), Dims(2 * spatial, 0)), starts, steps, op.getType());
    } else {
      auto type = RankedTensorType::get(spread, op.getType().getElementType());
      result = convolve(unslice(build, op.getInput(), cut, steps, type), pads);
    }
    if (!result || result.getType() != op.getType())
      return failure();
    b.replaceOp(op, result);
    return success();
  }
};

struct PackMatmul : OpRewritePattern<MatmulOp> {
  PackMatmul(MLIRContext *context, const emit::VectorTarget &target) : OpRewritePattern(context), target(target) {}
  emit::VectorTarget target;

  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &b) const override {
    auto rhs = typeOf(op.getRhs());
    // A library takes matrices as they are.
    if (op.getPackedN() || op.getLibrary() || !isKernelElement(rhs.getElementType()) ||
        !isConstantExpression(op.getRhs()) || elementCount(op.getType()) == 0 || elementCount(rhs) == 0)
      return failure();
    emit::MatmulSpec spec = describeMatmul(op);
    Value packed =
        PackMatmulRhsOp::create(b, op.getLoc(), op.getRhs(), op.getTransposeRhs(), emit::matmulPanel(spec, target));
    Value product = MatmulOp::create(b, op.getLoc(), op.getLhs(), packed, op.getTransposeLhsAttr(), UnitAttr(),
                                     b.getI64IntegerAttr(op.getType().getShape().back()), IntegerAttr());
    copyTuning(op, product);
    b.replaceOp(op, product);
    return success();
  }
};

/// op(transpose(x)) -> transpose(op'(x)): a transposition to channels_first
/// moves below an operator that commutes with it.
struct SinkTranspose : OpInterfaceRewritePattern<PermutableOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  static TransposeOp layoutTranspose(Value value) {
    auto transpose = value.getDefiningOp<TransposeOp>();
    return transpose && transpose.getPermutation() == ArrayRef(kToFirst) ? transpose : TransposeOp();
  }

  /// An operand of a 4-dimensional operator under four dimensions.
  static Extents imageExtents(Value operand) {
    const Extents own = extentsOf(operand);
    Extents extents(4 - own.size(), 1);
    llvm::append_range(extents, own);
    return extents;
  }

  /// Its channels-last form costs nothing at run time.
  static bool isFree(Value operand) {
    if (layoutTranspose(operand) || elementCount(operand.getType()) == 1)
      return true;
    if (typeOf(operand).getRank() > 4)
      return false;
    const Extents extents = imageExtents(operand);
    return isConstantExpression(operand) || extents[1].is(1) || (extents[2].is(1) && extents[3].is(1));
  }

  static Value toLast(OpBuilder &b, Value operand) {
    if (auto transpose = layoutTranspose(operand))
      return transpose.getInput();
    if (elementCount(operand.getType()) == 1)
      return operand;
    return b.createOrFold<TransposeOp>(operand.getLoc(), reshape(b, operand, imageExtents(operand)), ArrayRef(kToLast));
  }

  LogicalResult matchAndRewrite(PermutableOpInterface op, PatternRewriter &b) const override {
    if (op->getNumResults() != 1 || typeOf(op->getResult(0)).getRank() != 4)
      return failure();
    // Look before building anything: a pattern that fails must leave no trace.
    bool sinks = false;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (!op.isPermutedOperand(i))
        continue;
      if (!isFree(operand))
        return failure();
      sinks |= static_cast<bool>(layoutTranspose(operand));
    }
    if (!sinks)
      return failure();
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(op.isPermutedOperand(i) ? toLast(b, operand) : operand);
    FailureOr<Operation *> permuted = op.permute(b, kToLast, operands);
    if (failed(permuted))
      return failure();
    b.replaceOpWithNewOp<TransposeOp>(op, (*permuted)->getResult(0), ArrayRef(kToFirst));
    return success();
  }
};

struct AssignLayout : sluice::impl::AssignLayoutPassBase<AssignLayout> {
  using AssignLayoutPassBase::AssignLayoutPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    constexpr int64_t kMost = 1024;
    if (lanes < 1 || lanes > kMost || !llvm::isPowerOf2_64(lanes))
      return emitError(UnknownLoc::get(context)) << "option 'lanes' of dataflow-assign-layout is " << lanes.getValue()
                                                 << " and must be a power of two from 1 to " << kMost;
    if (registers < 1 || registers > kMost)
      return emitError(UnknownLoc::get(context)) << "option 'registers' of dataflow-assign-layout is "
                                                 << registers.getValue() << " and must be from 1 to " << kMost;
    constexpr int64_t kLeastCache = 1 << 12, kMostCache = 1 << 30;
    if (l2 < kLeastCache || l2 > kMostCache)
      return emitError(UnknownLoc::get(context)) << "option 'l2' of dataflow-assign-layout is " << l2.getValue()
                                                 << " and must be from " << kLeastCache << " to " << kMostCache;
    if (dot != "none" && !symbolizeIntegerDot(dot))
      return emitError(UnknownLoc::get(context))
             << "'" << dot.getValue()
             << "' is unknown, option 'dot' of dataflow-assign-layout, use none, plain, pairs, quads or tiles";
    if (conv != "direct" && conv != "auto" && conv != "winograd")
      return emitError(UnknownLoc::get(context))
             << "'" << conv.getValue()
             << "' is unknown, option 'conv' of dataflow-assign-layout, use direct, auto or winograd";
    if (!(tolerance >= 0))
      return emitError(UnknownLoc::get(context))
             << "option 'tolerance' of dataflow-assign-layout is " << tolerance.getValue() << " and must be 0 or more";
    if (half != "none" && !symbolizeHalfDot(half))
      return emitError(UnknownLoc::get(context))
             << "'" << half.getValue()
             << "' is unknown, option 'half' of dataflow-assign-layout, use none, pairs or tiles";
    if ((dot == "tiles" || half == "tiles") && !emit::supportsDot(emit::IntegerDot::Tiles, lanes))
      return emitError(UnknownLoc::get(context))
             << "option 'lanes' of dataflow-assign-layout is " << lanes.getValue()
             << ", which allows no tiles, and option 'dot' or 'half' requests tiles, give lanes = "
             << emit::kTileColumns;
    if (roundedBits != 0 && roundedBits != 4 && roundedBits != 8)
      return emitError(UnknownLoc::get(context))
             << "'" << roundedBits.getValue()
             << "' is unknown, option 'rounded-bits' of dataflow-assign-layout, use 0, 4 or 8";
    if (round && half == "none")
      return emitError(UnknownLoc::get(context)) << "option 'round' of dataflow-assign-layout needs half-precision "
                                                    "instructions, give half = pairs or tiles";
    return success();
  }

  /// The errors of the convolutions that go by Winograd's algorithm may add: each has its share of the tolerance.
  WinogradChoice chooseWinograd(func::FuncOp function, const emit::VectorTarget &target) {
    const WinogradChoice any{conv != "direct", conv == "winograd", half.getValue(), HUGE_VAL};
    int64_t count = 0;
    function.walk([&](ConvOp op) { count += any.choose(op, target).has_value(); });
    function.walk([&](ConvTransposeOp) { ++count; }); // It may become one.
    return {any.isAllowed, any.isWanted, any.half, tolerance / static_cast<double>(std::max<int64_t>(count, 1))};
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    MLIRContext *context = &getContext();
    emit::VectorTarget target;
    target.lanesF32 = lanes;
    target.registers = registers;
    target.l2Bytes = l2;
    RewritePatternSet patterns(context);
    patterns.add<ConvToImage, SinkTranspose>(context);
    patterns.add<PackConv>(context, target, dynamic, chooseWinograd(function, target));
    patterns.add<PackMatmul>(context, target);
    if (std::optional<IntegerDot> form = symbolizeIntegerDot(dot)) {
      populateIntegerLayoutPatterns(patterns, target, *form);
      populateBlockLayoutPatterns(patterns, target, roundedBits);
    }
    if (std::optional<HalfDot> form = symbolizeHalfDot(half))
      populateHalfLayoutPatterns(patterns, target, *form, round);
    if (dynamic)
      patterns.add<ConvTransposeToConv, ConvTransposeToPhases>(context);
    TransposeOp::getCanonicalizationPatterns(patterns, context);
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyPatternsGreedily(function, std::move(patterns), config)))
      return signalPassFailure();
    OpPassManager cse("func.func");
    cse.addPass(createCSEPass());
    if (failed(runPipeline(cse, function)))
      signalPassFailure();
  }
};
} // namespace
