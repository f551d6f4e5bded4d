//===- Integers.cpp - Products of bytes -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Support/Error.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

bool sluice::dataflow::isMadeInKernel(Operation *op, Value operand) {
  return operand.getDefiningOp() && isa<FusedOp>(op->getParentOp());
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

std::string sluice::dataflow::findPanelsProblem(int64_t columns, int64_t segments, int64_t length, int64_t panel,
                                                int64_t most) {
  constexpr int64_t kMostPanel = 4096;
  if (panel < 1 || panel > kMostPanel)
    return concat("panels of ", panel, " columns, use 1 to ", kMostPanel);
  if (columns < 1 || segments < 1 || length < 1 || columns > most || segments > most || length > most)
    return concat("panels of ", columns, " columns and ", segments, " x ", length, " rows, use 1 to ", most,
                  " of each");
  // Extents are padded to whole panels and to a row of a tile register. An element has at most two parts of 2 bytes, a
  // column at most two numbers of 4 bytes beside its elements.
  const Count bytes = Count(columns + panel) * (Count(segments) * (length + emit::kTileBytes) * 4 + 8);
  return bytes > Count::kMost / 2 ? "panels of more bytes than can be counted" : "";
}

LogicalResult IntegerPanelsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, IntegerDot dot,
                                        int64_t columns, int64_t segments, int64_t length, int64_t panel,
                                        bool hasZeroPoints) {
  if (dot == IntegerDot::tiles && (hasZeroPoints || panel % emit::kTileColumns != 0))
    return emitError() << "panels for tiles must have no zero points, and a number of columns that is a multiple of "
                       << emit::kTileColumns;
  const std::string problem = findPanelsProblem(columns, segments, length, panel, kMostByteExtent);
  return problem.empty() ? success() : LogicalResult(emitError() << problem);
}

emit::IntegerPanels sluice::dataflow::describePanels(IntegerPanelsAttr panels) {
  return {static_cast<emit::IntegerDot>(panels.getDot()),
          panels.getColumns(),
          panels.getSegments(),
          panels.getLength(),
          panels.getPanel(),
          panels.getZeroPoints()};
}

/// Bytes of the packed matrices.
static FailureOr<Count> packedBytes(std::optional<Location> loc, RankedTensorType rhs, IntegerPanelsAttr attribute) {
  emit::IntegerPanels panels = describePanels(attribute);
  if (rhs.getRank() < 2 || rhs.getShape().back() != panels.n ||
      rhs.getShape()[rhs.getRank() - 2] != panels.segments * panels.length)
    return emitOptionalError(loc, "must pack matrices of ", panels.segments * panels.length, " x ", panels.n, " bytes");
  return product(rhs.getShape().drop_back(2)) * panels.bytes();
}

LogicalResult PackIntegerRhsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto bytes = packedBytes(loc, typeOf(adaptor.getRhs()), adaptor.getPanels());
  if (failed(bytes))
    return failure();
  results.push_back(RankedTensorType::get({*bytes}, IntegerType::get(context, 8)));
  return success();
}

/// Unsigned bytes less no zero point are signed ones less -128, which panels without zero points do not have.
static LogicalResult checkZeroPoints(Operation *op, Value bytes, Value zero, IntegerPanelsAttr panels) {
  if (!zero && !panels.getZeroPoints() && typeOf(bytes).getElementType().isUnsignedInteger())
    return op->emitOpError("has unsigned bytes without a zero point, but panels without zero points, give a zero point "
                           "or panels with zero points");
  return success();
}

LogicalResult PackIntegerRhsOp::verify() {
  if (failed(packedBytes(getLoc(), typeOf(getRhs()), getPanels())) ||
      failed(checkZeroPoints(*this, getRhs(), getZeroPoint(), getPanels())))
    return failure();
  if (getZeroPoint())
    if (Count count = elementCount(getZeroPoint().getType()); count != 1 && count != getPanels().getColumns())
      return emitOpError("has ") << count.value() << " zero points for " << getPanels().getColumns() << " columns";
  return success();
}

//===----------------------------------------------------------------------===//
// integer_matmul
//===----------------------------------------------------------------------===//

static FailureOr<MatmulShape> shapeOfProduct(std::optional<Location> loc, RankedTensorType lhs, RankedTensorType rhs,
                                             IntegerPanelsAttr panels) {
  const bool isPacked = panels && rhs.getRank() == 1;
  if (lhs.getRank() < 2 || (rhs.getRank() < 2 && !isPacked))
    return emitOptionalError(loc, "integer_matmul operands have ranks ", lhs.getRank(), " and ", rhs.getRank(),
                             ", at least 2 is needed");
  ArrayRef<int64_t> a = lhs.getShape(), c = rhs.getShape();
  MatmulShape shape{SmallVector<int64_t>(a.drop_back(2)), a[a.size() - 2], 0, a.back()};
  if (isPacked) {
    emit::IntegerPanels packed = describePanels(panels);
    shape.n = packed.n;
    if (packed.segments * packed.length != shape.k || c[0] != packed.bytes())
      return emitOptionalError(loc, "packed operand of ", c[0], " bytes does not match panels for ", shape.k, " x ",
                               shape.n);
    return shape;
  }
  shape.n = c.back();
  if (c[c.size() - 2] != shape.k)
    return emitOptionalError(loc, "integer_matmul contracts ", shape.k, " elements of the left-hand side with ",
                             c[c.size() - 2], " of the right-hand side, and both numbers must be equal");
  // Panels that each step fills have room for the greatest extents of a range.
  if (panels && (panels.getColumns() < shape.n || panels.getSegments() != 1 || panels.getLength() < shape.k))
    return emitOptionalError(loc, "panels are too small for ", shape.k, " x ", shape.n);
  auto batch = broadcastShapes({a.drop_back(2), c.drop_back(2)});
  if (failed(batch))
    return emitOptionalError(loc, "integer_matmul batch dimensions do not broadcast to each other");
  shape.batch = *batch;
  return shape;
}

MatmulShape sluice::dataflow::shapeOfMatmul(IntegerMatmulOp op) {
  return *shapeOfProduct(std::nullopt, typeOf(op.getLhs()), typeOf(op.getRhs()), op.getPanelsAttr());
}

LogicalResult IntegerMatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &results) {
  auto shape = shapeOfProduct(loc, typeOf(adaptor.getLhs()), typeOf(adaptor.getRhs()), adaptor.getPanelsAttr());
  if (failed(shape))
    return failure();
  SmallVector<int64_t> extents = shape->batch;
  extents.append({shape->m, shape->n});
  results.push_back(RankedTensorType::get(extents, IntegerType::get(context, 32)));
  return success();
}

bool IntegerMatmulOp::isPacked() { return getPanels() && typeOf(getRhs()).getRank() == 1; }

LogicalResult IntegerMatmulOp::verify() {
  // The result's type is compared after this: nothing is known of the operands yet.
  auto known = shapeOfProduct(getLoc(), typeOf(getLhs()), typeOf(getRhs()), getPanelsAttr());
  if (failed(known))
    return failure();
  const MatmulShape &shape = *known;
  if (Value zero = getLhsZeroPoint()) {
    ArrayRef<int64_t> own = shapeOf(zero), lhs = shapeOf(getLhs());
    bool fits = own.size() <= lhs.size() && (own.empty() || own.back() == 1);
    for (size_t i = 1; fits && i < own.size(); ++i) {
      const int64_t extent = own[own.size() - 1 - i];
      fits = extent == 1 || extent == lhs[lhs.size() - 1 - i];
    }
    if (!fits)
      return emitOpError("must have one zero point of the left-hand side, or one for each row");
  }
  if (Value zero = getRhsZeroPoint()) {
    if (isPacked())
      return emitOpError("must not have zero points for a packed operand, which contains them");
    Count count = elementCount(zero.getType());
    if (count != 1 && (count != shape.n || typeOf(zero).getRank() != 1))
      return emitOpError("has ") << count.value() << " zero points of the right-hand side for " << shape.n
                                 << " columns";
  }
  return getPanels() && !isPacked() ? checkZeroPoints(*this, getRhs(), getRhsZeroPoint(), getPanelsAttr()) : success();
}

int64_t IntegerMatmulOp::getFlops() { return product({2, shapeOf(getLhs()).back(), elementCount(getType())}); }

bool IntegerMatmulOp::allowsPrologue(unsigned index) {
  // Bytes are staged before they are multiplied, zero points read one by one.
  return index == 0 || !(index == 1 || (getRhsZeroPoint() && index + 1 == getNumOperands()));
}

emit::IntegerPanels sluice::dataflow::describePanels(IntegerMatmulOp op) {
  emit::IntegerPanels panels = describePanels(*op.getPanels());
  if (!op.isPacked()) {
    const MatmulShape shape = shapeOfMatmul(op);
    panels.n = shape.n;
    panels.length = shape.k;
  }
  return panels;
}

IntegerMatmulBuffers sluice::dataflow::buffersOf(IntegerMatmulOp op) {
  IntegerMatmulBuffers buffers;
  const MatmulShape shape = shapeOfMatmul(op);
  const emit::IntegerPanels panels = describePanels(op);
  const int64_t bytes = emit::lhsBytes(panels.dot);
  buffers.lhsBatches = product(shapeOf(op.getLhs()).drop_back(2));
  buffers.rhsBatches = op.isPacked() ? int64_t(1) : product(shapeOf(op.getRhs()).drop_back(2)).value();
  buffers.packsRhs = !op.isPacked();
  buffers.stagesLhs = isMadeInKernel(op, op.getLhs()) || !typeOf(op.getLhs()).getElementType().isUnsignedInteger() ||
                      bytes > 1 || shape.k % emit::stepOf(panels.dot) != 0 ||
                      !extentsOf(op.getLhs()).back().isConstant();
  buffers.lhsRow = buffers.stagesLhs ? panels.steps() * emit::depthOf(panels.dot) : shape.k;
  constexpr int64_t kLine = 64;
  Count staged = buffers.stagesLhs ? product({buffers.lhsBatches, shape.m, buffers.lhsRow, bytes}) : Count(0);
  staged = (staged + kLine - 1) / kLine * kLine;
  buffers.packedAt = staged;
  buffers.bytes = staged + (buffers.packsRhs ? product({buffers.rhsBatches, panels.bytes()}) : Count(0));
  return buffers;
}

int64_t IntegerMatmulOp::getWorkspaceBytes() { return getPanels() ? buffersOf(*this).bytes : 0; }

//===----------------------------------------------------------------------===//
// integer_conv
//===----------------------------------------------------------------------===//

SmallVector<int64_t> IntegerConvOp::getKernelShape() {
  if (auto kernel = getKernel())
    return SmallVector<int64_t>(*kernel);
  return SmallVector<int64_t>(shapeOf(getWeight()).drop_front(2));
}

int64_t IntegerConvOp::getOutputChannels() { return getFilters() ? *getFilters() : shapeOf(getWeight())[0]; }

int64_t IntegerConvOp::getChannelDim() {
  return getLayout() == Layout::channels_last ? typeOf(getInput()).getRank() - 1 : 1;
}

bool IntegerConvOp::isDepthwise() {
  const auto groups = static_cast<int64_t>(getGroups());
  return groups > 1 && groups == shapeOf(getInput())[getChannelDim()] && groups == getOutputChannels();
}

/// The result's shape, of an operator or its adaptor.
template <typename Conv>
static FailureOr<SmallVector<int64_t>> shapeOfConv(std::optional<Location> loc, Conv conv) {
  auto input = typeOf(conv.getInput()), weight = typeOf(conv.getWeight());
  const int64_t spatial = input.getRank() - 2;
  const bool isPacked = conv.getPanels().has_value();
  if (spatial < 1 || spatial > 3 || weight.getRank() != (isPacked ? 1 : input.getRank()))
    return emitOptionalError(loc, "integer_conv of input rank ", input.getRank(), " and weight rank ", weight.getRank(),
                             ", give an input of rank 3 to 5, and a weight of the same rank or a packed one of rank 1");
  if (isPacked &&
      (!conv.getKernel() || static_cast<int64_t>(conv.getKernel()->size()) != spatial || !conv.getFilters()))
    return emitOptionalError(loc, "a packed weight needs the 'kernel' and 'filters' attributes");
  ArrayRef<int64_t> kernel = isPacked ? *conv.getKernel() : weight.getShape().drop_front(2);
  const int64_t filters = isPacked ? static_cast<int64_t>(*conv.getFilters()) : weight.getDimSize(0);
  const bool last = conv.getLayout() == Layout::channels_last;
  const auto groups = static_cast<int64_t>(conv.getGroups());
  auto shape = convShape(loc, input.getShape(),
                         {kernel, conv.getStrides(), conv.getPads(), conv.getDilations(), groups, filters, last});
  const int64_t channels = input.getDimSize(last ? spatial + 1 : 1);
  if (succeeded(shape) && !isPacked && weight.getDimSize(1) != channels / groups)
    return emitOptionalError(loc, "integer_conv of ", channels, " to ", filters, " channels in ", groups,
                             " groups does not match the shape of the weight");
  return shape;
}

LogicalResult IntegerConvOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                              SmallVectorImpl<Type> &results) {
  auto shape = shapeOfConv(loc, adaptor);
  if (failed(shape))
    return failure();
  results.push_back(RankedTensorType::get(*shape, IntegerType::get(context, 32)));
  return success();
}

LogicalResult IntegerConvOp::verify() {
  // The result's type is compared after this: nothing is known of the operands yet.
  if (failed(shapeOfConv(getLoc(), *this)))
    return failure();
  if (Value zero = getInputZeroPoint(); zero && elementCount(zero.getType()) != 1)
    return emitOpError("must have at most one zero point of the input");
  if (Value zero = getWeightZeroPoint()) {
    if (getPanels())
      return emitOpError("must not have zero points for a packed weight, which contains them");
    Count count = elementCount(zero.getType());
    if (count != 1 && (count != getOutputChannels() || typeOf(zero).getRank() != 1))
      return emitOpError("has ") << count.value() << " zero points for " << getOutputChannels() << " filters";
  }
  if (!getPanels()) {
    if (getKernel() || getFilters())
      return emitOpError("'kernel' and 'filters' are for packed weights, and the weight is not packed");
    return success();
  }
  if (getLayout() != Layout::channels_last || typeOf(getInput()).getRank() != 4)
    return emitOpError("a packed weight needs a channels_last image");
  emit::IntegerPanels panels = describePanels(*getPanels());
  const auto groups = static_cast<int64_t>(getGroups());
  const Count taps = product(getKernelShape()), inputs = shapeOf(getInput())[3] / groups;
  const bool fits =
      isDepthwise() ? panels.n == groups && panels.segments == taps && panels.length == 1 &&
                          panels.dot == emit::IntegerDot::Plain && shapeOf(getWeight())[0] == panels.bytes()
                    : panels.n == getOutputChannels() / groups && panels.segments * panels.length == taps * inputs &&
                          shapeOf(getWeight())[0] == groups * Count(panels.bytes());
  // A segment is a tap, or a row of them where they lie side by side.
  const bool isRow = groups == 1 && getDilations()[1] == 1;
  if (!fits || (!isDepthwise() && panels.length != inputs * (isRow ? getKernelShape()[1] : 1)))
    return emitOpError("has panels that do not match the weight");
  return success();
}

int64_t IntegerConvOp::getFlops() {
  return product({2, elementCount(getType()), shapeOf(getInput())[getChannelDim()] / static_cast<int64_t>(getGroups()),
                  product(getKernelShape())});
}

bool IntegerConvOp::allowsPrologue(unsigned index) {
  // Images are staged before they are multiplied, the zero point is read by itself.
  return index == 0 || (index == 2 && getInputZeroPoint());
}

IntegerConvImage sluice::dataflow::imageOf(IntegerConvOp op) {
  IntegerConvImage image;
  ArrayRef<int64_t> in = shapeOf(op.getInput()), out = shapeOf(op.getResult());
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations();
  SmallVector<int64_t> kernel = op.getKernelShape();
  const emit::IntegerPanels panels = describePanels(*op.getPanels());
  const int64_t channels = in[3], bytes = emit::lhsBytes(panels.dot);
  const bool isPadded = llvm::any_of(op.getPads(), [](int64_t pad) { return pad != 0; });
  // Instructions read whole steps or panels, beyond the end of a run of elements.
  const bool readsOn = op.isDepthwise() ? channels % panels.panel != 0 : panels.length % emit::stepOf(panels.dot) != 0;
  image.stages = isPadded || readsOn || isMadeInKernel(op, op.getInput()) ||
                 !typeOf(op.getInput()).getElementType().isUnsignedInteger() || bytes > 1;
  const Extents all = extentsOf(op.getInput());
  auto extent = [&](size_t d) -> Extent {
    if (!image.stages)
      return all[1 + d];
    // The border that windows reach from the last row or column on is another one at each point.
    if (!all[1 + d].isConstant())
      return all[1 + d] + (op.getPads()[d] + op.getPads()[2 + d]);
    return (out[1 + d] - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1;
  };
  image.height = extent(0);
  image.width = extent(1);
  const int64_t slack = 2 * panels.panel + 64;
  image.bytes =
      image.stages ? (product({in[0], image.height.most(), image.width.most(), channels}) + slack) * bytes : Count(0);
  return image;
}

int64_t IntegerConvOp::getWorkspaceBytes() {
  return getPanels() && elementCount(getType()) != 0 ? imageOf(*this).bytes : 0;
}
