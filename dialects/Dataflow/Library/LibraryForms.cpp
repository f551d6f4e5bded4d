//===- LibraryForms.cpp - What GPU makers' libraries may compute ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

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

/// Libraries count in 32 bits.
static bool areCountable(ArrayRef<int64_t> counts) {
  return llvm::all_of(counts, [](int64_t count) { return count > 0 && count <= INT32_MAX; });
}

static std::optional<LibraryCall> describeMatmul(MatmulOp op, MatmulPrecision precision) {
  sluice_product what{};
  what.element_type = libraryElement(op.getType().getElementType());
  what.precision = static_cast<int64_t>(precision);
  if (what.element_type == 0 || op.getPackedN())
    return std::nullopt;
  const bool isFlat = isFlatMatmul(op);
  const int64_t batches = product(op.getType().getShape().drop_back(2));
  const MatmulShape shape = shapeOfMatmul(op);
  what.batches = isFlat ? 1 : batches;
  what.m = isFlat ? (shape.m * product(shape.batch)).value() : shape.m, what.n = shape.n, what.k = shape.k;
  what.transpose_lhs = op.getTransposeLhs(), what.transpose_rhs = op.getTransposeRhs();
  // All batches' matrices one behind the other, or one for all of them.
  auto strideOf = [&](Value operand, int64_t matrix, int64_t &stride) {
    const int64_t own = product(shapeOf(operand).drop_back(2));
    stride = own == 1 ? 0 : matrix;
    return own == 1 || own == batches;
  };
  if (!strideOf(op.getLhs(), what.m * what.k, what.lhs_stride) ||
      !strideOf(op.getRhs(), what.k * what.n, what.rhs_stride) || !areCountable({what.batches, what.m, what.n, what.k}))
    return std::nullopt;
  if (isFlat)
    what.lhs_stride = 0;
  what.workspace_bytes = op.getWorkspaceBytes();
  return LibraryCall{SLUICE_LIBRARY_MATMUL, what};
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

/// For a gradient the same as for the convolution that it is of.
static std::optional<LibraryCall> convolutionForm(sluice_library_function function, const Convolution &conv,
                                                  MatmulPrecision precision, int64_t workspaceBytes) {
  ArrayRef<int64_t> in = conv.image.getShape(), out = conv.windows.getShape();
  const size_t spatial = in.size() - 2, first = conv.channelsLast ? 1 : 2,
               channel = conv.channelsLast ? spatial + 1 : 1;
  sluice_convolution what{};
  what.element_type = libraryElement(conv.image.getElementType());
  what.precision = static_cast<int64_t>(precision);
  what.channels_last = conv.channelsLast;
  what.batch = in[0], what.channels = in[channel], what.filters = out[channel];
  what.groups = conv.groups;
  // A weight's gradient is a grid of a thread a few weights: the fewer, the worse.
  const bool isThin = function != SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT && hasFewFilters(what.groups, what.filters);
  if (what.element_type == 0 || spatial > 2 || isThin ||
      !areCountable({elementCount(conv.image), elementCount(conv.windows), elementCount(conv.weight)}))
    return std::nullopt;
  for (size_t d = 0; d < spatial; ++d) {
    // Libraries pad both ends alike; what only the far end lacks no window sees.
    const int64_t reach = (conv.taps[d] - 1) * conv.dilations[d] + 1, padded = in[first + d] + 2 * conv.padsLow[d];
    if (conv.padsLow[d] < 0 || padded > INT32_MAX || padded < reach ||
        (padded - reach) / conv.strides[d] + 1 != out[first + d])
      return std::nullopt;
  }
  // A signal is an image of height 1.
  auto of = [&](ArrayRef<int64_t> list, size_t from, size_t d, int64_t none) {
    return d + spatial < 2 ? none : list[from + d + spatial - 2];
  };
  what.in_height = of(in, first, 0, 1), what.in_width = of(in, first, 1, 1);
  what.out_height = of(out, first, 0, 1), what.out_width = of(out, first, 1, 1);
  what.kernel_height = of(conv.taps, 0, 0, 1), what.kernel_width = of(conv.taps, 0, 1, 1);
  what.pad_height = of(conv.padsLow, 0, 0, 0), what.pad_width = of(conv.padsLow, 0, 1, 0);
  what.stride_height = of(conv.strides, 0, 0, 1), what.stride_width = of(conv.strides, 0, 1, 1);
  what.dilation_height = of(conv.dilations, 0, 0, 1), what.dilation_width = of(conv.dilations, 0, 1, 1);
  what.workspace_bytes = workspaceBytes;
  return LibraryCall{function, what};
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
