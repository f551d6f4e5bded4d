//===- LibraryForms.cpp - What GPU makers' libraries may compute ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Packing.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// ONNX's number of a type that libraries compute; 0: of another.
static int64_t libraryElement(Type type) { return type.isF32() ? 1 : type.isF16() ? 10 : type.isBF16() ? 16 : 0; }

/// Libraries count in 32 bits.
static bool areCountable(ArrayRef<int64_t> counts) {
  return llvm::all_of(counts, [](int64_t count) { return count > 0 && count <= INT32_MAX; });
}

template <typename Settings>
static LibraryCall callOf(uint32_t function, const Settings &settings) {
  return {function, std::string(reinterpret_cast<const char *>(&settings), sizeof settings)};
}

LogicalResult sluice::dataflow::detail::verifyLibrary(Operation *op) {
  auto bytes = static_cast<int64_t>(cast<LibraryOpInterface>(op).getLibrary().value_or(0));
  return bytes < 0 ? op->emitOpError("a library gets some scratch or none, not ") << bytes << " bytes" : success();
}

static int64_t scratchOf(std::optional<uint64_t> library) { return static_cast<int64_t>(library.value_or(0)); }
int64_t MatmulOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvTransposeOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }
int64_t ConvWeightGradientOp::getWorkspaceBytes() { return scratchOf(getLibrary()); }

std::optional<LibraryCall> MatmulOp::getLibraryForm(MatmulPrecision precision) {
  sluice_product what{};
  what.element_type = libraryElement(getType().getElementType());
  what.precision = static_cast<int64_t>(precision);
  if (what.element_type == 0 || getPackedN())
    return std::nullopt;
  const bool isFlat = isFlatMatmul(*this);
  const int64_t batches = product(getType().getShape().drop_back(2));
  emit::MatmulSpec spec = describeMatmul(*this);
  what.batches = isFlat ? 1 : batches;
  what.m = spec.m, what.n = spec.n, what.k = spec.k;
  what.transpose_lhs = getTransposeLhs(), what.transpose_rhs = getTransposeRhs();
  // All batches' matrices one behind the other, or one for all of them.
  auto strideOf = [&](Value operand, int64_t matrix, int64_t &stride) {
    const int64_t own = product(shapeOf(operand).drop_back(2));
    stride = own == 1 ? 0 : matrix;
    return own == 1 || own == batches;
  };
  if (!strideOf(getLhs(), what.m * what.k, what.lhs_stride) || !strideOf(getRhs(), what.k * what.n, what.rhs_stride) ||
      !areCountable({what.batches, what.m, what.n, what.k}))
    return std::nullopt;
  if (isFlat)
    what.lhs_stride = 0;
  what.workspace_bytes = getWorkspaceBytes();
  return callOf(SLUICE_LIBRARY_MATMUL, what);
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
static std::optional<LibraryCall> convolutionForm(uint32_t function, const Convolution &conv, MatmulPrecision precision,
                                                  int64_t workspaceBytes) {
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
  return callOf(function, what);
}

std::optional<LibraryCall> ConvOp::getLibraryForm(MatmulPrecision precision) {
  if (getPackedChannels() || getLayout() != getWeightLayout())
    return std::nullopt;
  SmallVector<int64_t> taps = getKernelShape();
  return convolutionForm(SLUICE_LIBRARY_CONV,
                         {typeOf(getInput()), getType(), typeOf(getWeight()), taps, getStrides(),
                          getPads().take_front(taps.size()), getDilations(), static_cast<int64_t>(getGroups()),
                          getLayout() == Layout::channels_last},
                         precision, getWorkspaceBytes());
}

/// As its grid, exact in every precision.
std::optional<LibraryCall> ConvTransposeOp::getLibraryForm(MatmulPrecision) {
  return convolutionForm(SLUICE_LIBRARY_CONV_DATA_GRADIENT,
                         {getType(), typeOf(getInput()), typeOf(getWeight()), shapeOf(getWeight()).drop_front(2),
                          getStrides(), getPadsLow(), getDilations(), static_cast<int64_t>(getGroups())},
                         MatmulPrecision::F32, getWorkspaceBytes());
}

/// As its grid, exact in every precision.
std::optional<LibraryCall> ConvWeightGradientOp::getLibraryForm(MatmulPrecision) {
  return convolutionForm(SLUICE_LIBRARY_CONV_WEIGHT_GRADIENT,
                         {typeOf(getInput()), typeOf(getGradient()), getType(), getType().getShape().drop_front(2),
                          getStrides(), getPadsLow(), getDilations(), static_cast<int64_t>(getGroups())},
                         MatmulPrecision::F32, getWorkspaceBytes());
}

std::optional<LibraryAddition> sluice::dataflow::libraryAddition(Operation *kernel) {
  auto group = dyn_cast<FusedOp>(kernel);
  auto anchor = group ? dyn_cast_or_null<LibraryOpInterface>(group.getAnchor()) : LibraryOpInterface();
  if (!anchor || !anchor.getLibrary())
    return std::nullopt;
  for (Value sum = anchor->getResult(0); sum.hasOneUse();) {
    auto addition = dyn_cast<BinaryOp>(*sum.user_begin());
    if (!addition || addition.getKind() != BinaryKind::add || addition.getType() != sum.getType())
      break;
    Value other = addition.getLhs() == sum ? addition.getRhs() : addition.getLhs();
    auto argument = dyn_cast<BlockArgument>(other);
    auto isAlone = [&](Value operand) {
      return llvm::count_if(group.getOperands(),
                            [&](Value each) { return viewedValue(each) == viewedValue(operand); }) == 1;
    };
    if (argument && argument.hasOneUse() && argument.getType() == sum.getType() &&
        isAlone(group.getOperand(argument.getArgNumber())))
      return LibraryAddition{addition, argument.getArgNumber(), sum};
    // Of f16 another order may leave its range between.
    if (cast<RankedTensorType>(sum.getType()).getElementType().isF16())
      break;
    sum = addition.getResult();
  }
  return std::nullopt;
}
