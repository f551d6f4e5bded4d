//===- Halves.cpp - Products in half precision ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/HalfShapes.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

LogicalResult HalfPanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, HalfDot dot, int64_t parts,
                                     int64_t columns, int64_t segments, int64_t length, int64_t panel) {
  if (parts != 1 && parts != 2)
    return emitError() << "elements cannot have " << parts << " parts, use 1 or 2";
  if (dot == HalfDot::tiles && panel % emit::kTileColumns != 0)
    return emitError() << "panels for tiles must have a multiple of " << emit::kTileColumns << " columns";
  const std::string problem = findPanelsProblem(columns, segments, length, panel, kMostHalfExtent);
  return problem.empty() ? success() : LogicalResult(emitError() << problem);
}

emit::IntegerPanels sluice::dataflow::describePanels(HalfPanelsAttr panels) {
  return {panels.getDot() == HalfDot::tiles ? emit::IntegerDot::Tiles : emit::IntegerDot::Quads,
          panels.getColumns(),
          panels.getSegments(),
          kHalfBytes * panels.getLength(),
          panels.getPanel(),
          /*hasZeroPoints=*/false,
          panels.getParts()};
}

int64_t sluice::dataflow::halfParts(Type element) { return element.isF16() ? 2 : 1; }

/// Whether an operand's elements are what the panels' parts multiply.
static LogicalResult checkParts(std::optional<Location> loc, Value operand, HalfPanelsAttr panels) {
  if (panels.getParts() != halfParts(elementOf(operand)))
    return emitOptionalError(loc, "elements of type ", elementOf(operand), " have ", halfParts(elementOf(operand)),
                             " parts, and the panels have ", panels.getParts());
  return success();
}

static LogicalResult checkPacked(std::optional<Location> loc, Value packed, HalfPanelsAttr panels) {
  const int64_t bytes = describePanels(panels).bytes();
  if (typeOf(packed).getRank() != 1 || shapeOf(packed)[0] != bytes)
    return emitOptionalError(loc, "packed operand must have rank 1 and the ", bytes, " bytes of the panels");
  return success();
}

static LogicalResult checkMatrix(std::optional<Location> loc, Value rhs, HalfPanelsAttr panels) {
  const int64_t rows = panels.getSegments() * panels.getLength();
  if (typeOf(rhs).getRank() != 2 || shapeOf(rhs)[0] != rows || shapeOf(rhs)[1] != panels.getColumns())
    return emitOptionalError(loc, "must pack a matrix of ", rows, " x ", panels.getColumns());
  return checkParts(loc, rhs, panels);
}

LogicalResult PackHalfRhsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  if (failed(checkMatrix(loc, adaptor.getRhs(), adaptor.getPanels())))
    return failure();
  results.push_back(RankedTensorType::get({describePanels(adaptor.getPanels()).bytes()}, IntegerType::get(context, 8)));
  return success();
}

LogicalResult PackHalfRhsOp::verify() { return checkMatrix(getLoc(), getRhs(), getPanels()); }

//===----------------------------------------------------------------------===//
// half_matmul
//===----------------------------------------------------------------------===//

/// The result's shape, of an operator or its adaptor.
template <typename Matmul>
static FailureOr<SmallVector<int64_t>> inferMatmulShape(std::optional<Location> loc, Matmul matmul) {
  auto lhs = typeOf(matmul.getLhs());
  HalfPanelsAttr panels = matmul.getPanels();
  if (lhs.getRank() < 2)
    return emitOptionalError(loc, "half_matmul operand has rank ", lhs.getRank(), ", at least 2 is needed");
  if (panels.getSegments() != 1 || lhs.getShape().back() != panels.getLength())
    return emitOptionalError(loc, "half_matmul contracts ", lhs.getShape().back(),
                             " elements of the left-hand side with panels of ", panels.getSegments(), " x ",
                             panels.getLength(), " elements, and both numbers must be equal");
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  shape.push_back(panels.getColumns());
  return shape;
}

LogicalResult HalfMatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  auto shape = inferMatmulShape(loc, adaptor);
  if (failed(shape))
    return failure();
  results.push_back(RankedTensorType::get(*shape, elementOf(adaptor.getLhs())));
  return success();
}

LogicalResult HalfMatmulOp::verify() {
  // The result's type is compared after this: nothing is known of the operands yet.
  if (failed(inferMatmulShape(getLoc(), *this)) || failed(checkPacked(getLoc(), getRhs(), getPanels())))
    return failure();
  return checkParts(getLoc(), getLhs(), getPanels());
}

int64_t HalfMatmulOp::getFlops() { return product({2, getPanels().getLength(), elementCount(getType())}); }

/// Fills in what follows from the image's extents. The operand is copied where it has a border (`isPadded`), where its
/// elements are not bf16, and where the instructions would read beyond its channels. `areTapsJoined`: neighbouring
/// pixels are read as one longer row, so that nothing lies between them.
static HalfImage makeImage(Value operand, emit::IntegerPanels panels, HalfImage image, bool isPadded,
                           bool areTapsJoined) {
  image.channels = panels.steps() * emit::depthOf(panels.dot) / kHalfBytes;
  image.stages = isPadded || !elementOf(operand).isBF16() || image.channels * kHalfBytes != panels.length;
  image.pitch = image.stages && !areTapsJoined ? emit::halfPitch(image.channels) : image.channels;
  const Count part = product({image.images.most(), image.height.most(), image.width.most(), image.pitch, kHalfBytes});
  constexpr int64_t kLine = 64;
  image.partBytes = (part + kLine - 1) / kLine * kLine;
  image.bytes = image.stages ? product({panels.parts, image.partBytes}) : Count(0);
  return image;
}

HalfImage sluice::dataflow::imageOf(HalfMatmulOp op) {
  HalfImage image{};
  image.height = productOf(ArrayRef(extentsOf(op.getLhs())).drop_back());
  return makeImage(op.getLhs(), describePanels(op.getPanels()), image, /*isPadded=*/false, /*areTapsJoined=*/false);
}

int64_t HalfMatmulOp::getWorkspaceBytes() { return elementCount(getType()) == 0 ? 0 : imageOf(*this).bytes; }

//===----------------------------------------------------------------------===//
// half_conv
//===----------------------------------------------------------------------===//

/// The result's shape, of an operator or its adaptor.
template <typename Conv>
static FailureOr<SmallVector<int64_t>> inferConvShape(std::optional<Location> loc, Conv conv) {
  auto input = typeOf(conv.getInput());
  HalfPanelsAttr panels = conv.getPanels();
  if (input.getRank() != 4 || conv.getKernel().size() != 2)
    return emitOptionalError(loc, "half_conv needs a channels_last image and a kernel of two dimensions");
  auto shape = convShape(loc, input.getShape(),
                         {conv.getKernel(), conv.getStrides(), conv.getPads(), conv.getDilations(),
                          /*groups=*/1, panels.getColumns(), /*last=*/true});
  if (succeeded(shape) &&
      (panels.getSegments() != product(conv.getKernel()) || panels.getLength() != input.getDimSize(3)))
    return emitOptionalError(loc, "half_conv of ", input.getDimSize(3), " channels does not match the panels");
  return shape;
}

LogicalResult HalfConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                           SmallVectorImpl<Type> &results) {
  auto shape = inferConvShape(loc, adaptor);
  if (failed(shape))
    return failure();
  results.push_back(RankedTensorType::get(*shape, elementOf(adaptor.getInput())));
  return success();
}

LogicalResult HalfConvOp::verify() {
  if (failed(inferConvShape(getLoc(), *this)) || failed(checkPacked(getLoc(), getWeight(), getPanels())))
    return failure();
  return checkParts(getLoc(), getInput(), getPanels());
}

int64_t HalfConvOp::getFlops() {
  return product({2, elementCount(getType()), getPanels().getSegments(), getPanels().getLength()});
}

HalfImage sluice::dataflow::imageOf(HalfConvOp op) {
  const Extents in = extentsOf(op.getInput());
  ArrayRef<int64_t> out = shapeOf(op.getResult()), kernel = op.getKernel();
  const bool isPadded = llvm::any_of(op.getPads(), [](int64_t pad) { return pad != 0; });
  HalfImage image{};
  image.images = in[0];
  auto extent = [&](size_t d) -> Extent {
    if (!isPadded)
      return in[1 + d];
    // The border that windows reach from the last row or column on is another one at each point.
    if (!in[1 + d].isConstant())
      return in[1 + d] + (op.getPads()[d] + op.getPads()[2 + d]);
    return (out[1 + d] - 1) * op.getStrides()[d] + (kernel[d] - 1) * op.getDilations()[d] + 1;
  };
  image.height = extent(0);
  image.width = extent(1);
  return makeImage(op.getInput(), describePanels(op.getPanels()), image, isPadded,
                   kernel[1] > 1 && op.getDilations()[1] == 1);
}

int64_t HalfConvOp::getWorkspaceBytes() { return elementCount(getType()) == 0 ? 0 : imageOf(*this).bytes; }
