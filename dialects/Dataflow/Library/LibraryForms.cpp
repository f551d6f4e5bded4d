//===- LibraryForms.cpp - What GPU makers' libraries may compute ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ExtentBounds.h"
#include "dialects/Dataflow/IR/MatmulShape.h"
#include "dialects/Dataflow/IR/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Library/Library.h"
#include "dialects/Dataflow/Library/LibraryCall.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace {
/// The model of a function that describes a call, or says that there is no form.
template <auto describe>
struct LibraryModel;
template <typename OpTy, std::optional<LibraryCall> (*describe)(OpTy, MatmulPrecision)>
struct LibraryModel<describe> : LibraryCallOpInterface::ExternalModel<LibraryModel<describe>, OpTy> {
  LogicalResult describeLibraryCall(Operation *op, MatmulPrecision precision, LibraryCall &call) const {
    std::optional<LibraryCall> form = describe(cast<OpTy>(op), precision);
    if (form)
      call = *form;
    return success(form.has_value());
  }
};
} // namespace

/// ONNX's number of a type that libraries compute; 0: of another.
static int64_t libraryElement(Type type) { return type.isF32() ? 1 : type.isF16() ? 10 : type.isBF16() ? 16 : 0; }

/// Libraries count in 32 bits, and take no empty tensor.
static bool areCountable(ArrayRef<Extent> counts) {
  return llvm::all_of(counts, [](const Extent &count) { return count.most() <= INT32_MAX && !mayBeZero(count); });
}

static std::optional<LibraryCall> describeMatmul(MatmulOp op, MatmulPrecision precision) {
  using Product = sluice_product;
  LibrarySettings<Product> what;
  what[&Product::element_type] = libraryElement(op.getType().getElementType());
  what[&Product::precision] = static_cast<int64_t>(precision);
  if (what[&Product::element_type].is(0) || op.getPackedN())
    return std::nullopt;
  const MatmulSizes sizes(op);
  const Extent batches = productOf(sizes.batch);
  what[&Product::batches] = sizes.isFlat ? Extent(1) : batches;
  what[&Product::m] = sizes.m, what[&Product::n] = sizes.n, what[&Product::k] = sizes.k;
  what[&Product::transpose_lhs] = op.getTransposeLhs(), what[&Product::transpose_rhs] = op.getTransposeRhs();
  // All batches' matrices one behind the other, or one for all of them.
  auto strideOf = [&](ArrayRef<Extent> batch, const Extent &matrix, Extent &stride) {
    const Extent own = productOf(batch);
    stride = own.is(1) ? Extent(0) : matrix;
    return own.is(1) || isSameExtent(own, batches);
  };
  if (!strideOf(sizes.lhsBatch, sizes.lhsMatrix, what[&Product::lhs_stride]) ||
      !strideOf(sizes.rhsBatch, sizes.rhsMatrix, what[&Product::rhs_stride]) ||
      !areCountable({what[&Product::batches], sizes.m, sizes.n, sizes.k}))
    return std::nullopt;
  if (sizes.isFlat)
    what[&Product::lhs_stride] = 0;
  what[&Product::workspace_bytes] = op.getWorkspaceBytes();
  return LibraryCall{SLUICE_LIBRARY_MATMUL, what.all()};
}

namespace {
/// A convolution of `image` to `windows`, both in one layout, and its filters' taps.
struct Convolution {
  RankedTensorType image, windows, weight;
  ArrayRef<int64_t> taps, strides, padsLow, dilations;
  int64_t groups;
  bool channelsLast = false;
};
} // namespace

/// Whether `windows` are all that fit into an image with `pad` before and behind it.
static bool padsAlike(const Extent &image, const Extent &windows, int64_t pad, int64_t reach, int64_t stride) {
  const Extent steps = image + 2 * pad - reach;
  if (pad < 0 || (steps + reach).most() > INT32_MAX)
    return false;
  const bool isInside = steps.isConstant() ? steps.most() >= 0 : !mayBeZero(steps + 1);
  return isInside && isSameExtent(steps / stride + 1, windows);
}

/// For a gradient the same as for the convolution that it is of.
static std::optional<LibraryCall> convolutionForm(sluice_library_function function, const Convolution &conv,
                                                  MatmulPrecision precision, int64_t workspaceBytes) {
  const Extents in = extentsOf(conv.image), out = extentsOf(conv.windows);
  const size_t spatial = in.size() - 2, first = conv.channelsLast ? 1 : 2,
               channel = conv.channelsLast ? spatial + 1 : 1;
  using Shape = sluice_convolution;
  LibrarySettings<Shape> what;
  what[&Shape::element_type] = libraryElement(conv.image.getElementType());
  what[&Shape::precision] = static_cast<int64_t>(precision);
  what[&Shape::channels_last] = conv.channelsLast;
  what[&Shape::batch] = in[0], what[&Shape::channels] = in[channel], what[&Shape::filters] = out[channel];
  what[&Shape::groups] = conv.groups;
  // A weight's gradient is a grid of a thread a few weights: the fewer, the worse.
  const bool isThin =
      function != SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT && hasFewFilters(conv.groups, out[channel].most());
  if (what[&Shape::element_type].is(0) || spatial > 2 || isThin ||
      !areCountable({productOf(in), productOf(out), productOf(extentsOf(conv.weight))}))
    return std::nullopt;
  // Libraries pad both ends alike; what only the far end lacks no window sees.
  for (size_t d = 0; d < spatial; ++d)
    if (!padsAlike(in[first + d], out[first + d], conv.padsLow[d], (conv.taps[d] - 1) * conv.dilations[d] + 1,
                   conv.strides[d]))
      return std::nullopt;
  // A signal is an image of height 1.
  auto of = [&](auto list, size_t from, size_t d, int64_t none) -> Extent {
    return d + spatial < 2 ? Extent(none) : Extent(list[from + d + spatial - 2]);
  };
  what[&Shape::in_height] = of(ArrayRef(in), first, 0, 1), what[&Shape::in_width] = of(ArrayRef(in), first, 1, 1);
  what[&Shape::out_height] = of(ArrayRef(out), first, 0, 1), what[&Shape::out_width] = of(ArrayRef(out), first, 1, 1);
  what[&Shape::kernel_height] = of(conv.taps, 0, 0, 1), what[&Shape::kernel_width] = of(conv.taps, 0, 1, 1);
  what[&Shape::pad_height] = of(conv.padsLow, 0, 0, 0), what[&Shape::pad_width] = of(conv.padsLow, 0, 1, 0);
  what[&Shape::stride_height] = of(conv.strides, 0, 0, 1), what[&Shape::stride_width] = of(conv.strides, 0, 1, 1);
  what[&Shape::dilation_height] = of(conv.dilations, 0, 0, 1);
  what[&Shape::dilation_width] = of(conv.dilations, 0, 1, 1);
  what[&Shape::workspace_bytes] = workspaceBytes;
  return LibraryCall{function, what.all()};
}

static std::optional<LibraryCall> describeConv(ConvOp op, MatmulPrecision precision) {
  if (op.getPackedChannels() || op.getLayout() != op.getWeightLayout())
    return std::nullopt;
  SmallVector<int64_t> taps = op.getKernelShape();
  return convolutionForm(SLUICE_LIBRARY_CONV,
                         {typeOf(op.getInput()), op.getType(), typeOf(op.getWeight()), taps, op.getStrides(),
                          op.getPads().take_front(taps.size()), op.getDilations(), static_cast<int64_t>(op.getGroups()),
                          op.getLayout() == Layout::channels_last},
                         precision, op.getWorkspaceBytes());
}

/// As its grid, exact in every precision.
static std::optional<LibraryCall> describeConvTranspose(ConvTransposeOp op, MatmulPrecision) {
  return convolutionForm(SLUICE_LIBRARY_CONV_DATA_GRADIENT,
                         {op.getType(), typeOf(op.getInput()), typeOf(op.getWeight()),
                          shapeOf(op.getWeight()).drop_front(2), op.getStrides(), op.getPadsLow(), op.getDilations(),
                          static_cast<int64_t>(op.getGroups())},
                         MatmulPrecision::F32, op.getWorkspaceBytes());
}

/// As its grid, exact in every precision.
static std::optional<LibraryCall> describeConvWeightGradient(ConvWeightGradientOp op, MatmulPrecision) {
  return convolutionForm(SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT,
                         {typeOf(op.getInput()), typeOf(op.getGradient()), op.getType(),
                          op.getType().getShape().drop_front(2), op.getStrides(), op.getPadsLow(), op.getDilations(),
                          static_cast<int64_t>(op.getGroups())},
                         MatmulPrecision::F32, op.getWorkspaceBytes());
}

void sluice::dataflow::registerLibraryModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attach<LibraryModel<describeMatmul>, LibraryModel<describeConv>, LibraryModel<describeConvTranspose>,
           LibraryModel<describeConvWeightGradient>>(context);
  });
}
