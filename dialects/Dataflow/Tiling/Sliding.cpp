//===- Sliding.cpp - Operators that slide along a dimension ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Tiling/Sliding.h"
#include "dialects/Dataflow/IR/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

#include "dialects/Dataflow/Tiling/Sliding.cpp.inc"

namespace {

/// The model of a function that says how an operator slides.
template <auto slide>
struct SlidingModel;
template <typename OpTy, std::optional<Slide> (*slide)(OpTy, int64_t)>
struct SlidingModel<slide> : SlidingOpInterface::ExternalModel<SlidingModel<slide>, OpTy> {
  std::optional<Slide> getSlide(Operation *op, int64_t dim) const { return slide(cast<OpTy>(op), dim); }
};

/// A convolution or a pooling: windows along the spatial dimensions.
struct SpatialWindows {
  Layout layout;
  ArrayRef<int64_t> in, out; ///< Shapes of the image and of the result.
  ArrayRef<int64_t> kernel, strides, low, high, dilations;

  /// Batch and spatial dimensions have the same place in the result.
  std::optional<Slide> slide(int64_t dim) const {
    if (dim == 0)
      return Slide{};
    const int64_t d = dim - (layout == Layout::channels_last ? 1 : 2);
    if (d < 0 || d >= static_cast<int64_t>(kernel.size()) || low[d] != 0 || high[d] != 0)
      return std::nullopt;
    const Count reach = Count(kernel[d] - 1) * dilations[d] + 1;
    // A pooling may have clipped windows at the end.
    if (out[dim] < 1 || Count(out[dim] - 1) * strides[d] + reach > in[dim])
      return std::nullopt;
    return Slide{dim, strides[d], reach};
  }
};

/// Of convolutions of floats and of integers.
template <typename Conv>
std::optional<Slide> slideOfConv(Conv op, int64_t dim) {
  const SmallVector<int64_t> kernel = op.getKernelShape();
  const ArrayRef<int64_t> pads = op.getPads();
  return SpatialWindows{
      op.getLayout(),  shapeOf(op.getInput()),         shapeOf(op.getResult()),        kernel,
      op.getStrides(), pads.take_front(kernel.size()), pads.drop_front(kernel.size()), op.getDilations()}
      .slide(dim);
}

std::optional<Slide> slideOfPool(PoolOp op, int64_t dim) {
  return SpatialWindows{op.getLayout(),  shapeOf(op.getInput()), op.getType().getShape(), op.getKernel(),
                        op.getStrides(), op.getPadsLow(),        op.getPadsHigh(),        op.getDilations()}
      .slide(dim);
}

/// Rows of the left operand, if all rows are multiplied by one matrix.
std::optional<Slide> slideOfMatmul(MatmulOp op, int64_t dim) {
  const int64_t rank = typeOf(op.getLhs()).getRank(), matrix = op.getPackedN() ? 3 : 2;
  if (op.getTransposeLhs() || dim == rank - 1 || typeOf(op.getRhs()).getRank() != matrix)
    return std::nullopt;
  return Slide{dim};
}

std::optional<Slide> slideOfTranspose(TransposeOp op, int64_t dim) {
  const auto *at = llvm::find(op.getPermutation(), dim);
  return Slide{at - op.getPermutation().begin()};
}

/// A dimension keeps its place among the elements if as many elements are before it and as many behind it.
std::optional<Slide> slideOfReshape(ReshapeOp op, int64_t dim) {
  const ArrayRef<int64_t> in = shapeOf(op.getInput()), out = op.getType().getShape();
  const Count before = product(in.take_front(dim));
  for (size_t at = 0; at < out.size(); ++at)
    if (out[at] == in[dim] && product(out.take_front(at)) == before)
      return Slide{static_cast<int64_t>(at)};
  return std::nullopt;
}

} // namespace

std::optional<Slide> sluice::dataflow::slideOf(Operation *op, unsigned operand, int64_t dim) {
  if (isa<ElementwiseOpInterface>(op)) {
    const int64_t resultDim = dim + typeOf(op->getResult(0)).getRank() - typeOf(op->getOperand(operand)).getRank();
    if (shapeOf(op->getOperand(operand))[dim] != shapeOf(op->getResult(0))[resultDim])
      return std::nullopt;
    return Slide{resultDim};
  }
  auto model = dyn_cast<SlidingOpInterface>(op);
  return model && operand == 0 ? model.getSlide(dim) : std::nullopt;
}

void sluice::dataflow::registerSlidingModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DataflowDialect *) {
    attach<SlidingModel<slideOfConv<ConvOp>>, SlidingModel<slideOfConv<IntegerConvOp>>, SlidingModel<slideOfPool>,
           SlidingModel<slideOfMatmul>, SlidingModel<slideOfTranspose>, SlidingModel<slideOfReshape>>(context);
  });
}
