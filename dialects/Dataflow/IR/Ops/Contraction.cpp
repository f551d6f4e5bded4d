//===- Contraction.cpp - matmul, conv, packing ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/ExtentBounds.h"
#include "dialects/Dataflow/IR/MatmulShape.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/WinogradLimits.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

/// Whether loops of a CPU compute something: not a library, and of known extents.
static bool hasOwnLoops(Operation *op) {
  return !cast<LibraryOpInterface>(op).getLibrary() &&
         llvm::all_of(llvm::concat<Value>(op->getOperands(), op->getResults()), [](Value value) {
           auto type = typeOf(value);
           return type.hasStaticShape() && elementCount(type) != 0;
         });
}

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

static int64_t numBlocks(int64_t extent, int64_t block) {
  return static_cast<int64_t>(llvm::divideCeil(extent, block));
}

static FailureOr<MatmulShape> matmulShape(std::optional<Location> loc, RankedTensorType lhs, RankedTensorType rhs,
                                          bool transposeLhs, bool transposeRhs, std::optional<int64_t> packedN) {
  if (lhs.getRank() < 2 || rhs.getRank() < (packedN ? 3 : 2))
    return emitOptionalError(loc, "matmul operands have ranks ", lhs.getRank(), " and ", rhs.getRank(),
                             ", at least 2 is needed");
  if (lhs.getElementType() != rhs.getElementType())
    return emitOptionalError(loc, "matmul operands have different element types");
  ArrayRef<int64_t> a = lhs.getShape(), c = rhs.getShape();
  MatmulShape shape;
  shape.m = a[a.size() - (transposeLhs ? 1 : 2)];
  shape.k = a[a.size() - (transposeLhs ? 2 : 1)];
  int64_t rhsK;
  ArrayRef<int64_t> rhsBatch;
  if (packedN) {
    shape.n = *packedN;
    rhsK = c[c.size() - 2];
    rhsBatch = c.drop_back(3);
    int64_t block = c.back();
    if (shape.n < 0 || block <= 0 || c[c.size() - 3] != numBlocks(shape.n, block))
      return emitOptionalError(loc, "shape of the packed operand does not match panels for ", shape.n, " columns");
  } else {
    shape.n = c[c.size() - (transposeRhs ? 2 : 1)];
    rhsK = c[c.size() - (transposeRhs ? 1 : 2)];
    rhsBatch = c.drop_back(2);
  }
  if (rhsK != shape.k)
    return emitOptionalError(loc, "matmul contracts ", shape.k, " elements of the left-hand side with ", rhsK,
                             " of the right-hand side, and both numbers must be equal");
  auto batch = broadcastShapes({a.drop_back(2), rhsBatch});
  if (failed(batch))
    return emitOptionalError(loc, "matmul batch dimensions do not broadcast to each other");
  shape.batch = *batch;
  return shape;
}

MatmulShape sluice::dataflow::shapeOfMatmul(MatmulOp op) {
  return *matmulShape(std::nullopt, typeOf(op.getLhs()), typeOf(op.getRhs()), op.getTransposeLhs(),
                      op.getTransposeRhs(), op.getPackedN());
}

bool MatmulOp::isTunable() {
  const Type element = getType().getElementType();
  return hasOwnLoops(*this) && !getPackedN() &&
         (element.isF32() || element.isF64() || element.isF16() || element.isBF16());
}

bool sluice::dataflow::isFlatMatmul(MatmulOp op) {
  MatmulShape shape = shapeOfMatmul(op);
  int64_t batches = product(shape.batch);
  return batches > 1 && !op.getTransposeLhs() && product(shapeOf(op.getLhs()).drop_back(2)) == batches &&
         product(shapeOf(op.getRhs()).drop_back(op.getPackedN() ? 3 : 2)) == 1;
}

sluice::dataflow::MatmulSizes::MatmulSizes(MatmulOp op) : batch(extentsOf(op.getResult())) {
  n = batch.pop_back_val();
  m = batch.pop_back_val();
  // A slice keeps the strides of what it is taken of.
  const Extents lhs = extentsOf(op.getLhs()), rhs = extentsOf(slicedTensor(op.getRhs()));
  const size_t matrix = op.getPackedN() ? 3 : 2;
  k = lhs[lhs.size() - (op.getTransposeLhs() ? 2 : 1)];
  lda = lhs.back();
  ldb = rhs.back();
  lhsBatch.append(lhs.begin(), lhs.end() - 2);
  rhsBatch.append(rhs.begin(), rhs.end() - static_cast<ptrdiff_t>(matrix));
  lhsMatrix = productOf(ArrayRef(lhs).take_back(2));
  rhsMatrix = productOf(ArrayRef(rhs).take_back(matrix));
  isFlat = symbolsOf(op) ? !op.getTransposeLhs() && !productOf(batch).is(1) && productOf(rhsBatch).is(1) &&
                               isSameExtent(productOf(lhsBatch), productOf(batch))
                         : isFlatMatmul(op);
  rows = batch;
  rows.push_back(m);
  if (isFlat)
    m = productOf(rows);
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto lhs = typeOf(adaptor.getLhs()), rhs = typeOf(adaptor.getRhs());
  auto shape = matmulShape(loc, lhs, rhs, adaptor.getTransposeLhs(), adaptor.getTransposeRhs(), adaptor.getPackedN());
  if (failed(shape))
    return failure();
  SmallVector<int64_t> extents = shape->batch;
  extents.append({shape->m, shape->n});
  results.push_back(RankedTensorType::get(extents, lhs.getElementType()));
  return success();
}

/// Products of integers and those by libraries take no strides.
bool MatmulOp::readsSlice(unsigned index) {
  return index == 1 && !getPackedN() && !getLibrary() && isa<FloatType>(getType().getElementType());
}

/// The kernels of products load their operands as numbers of the processor.
static LogicalResult checkProductType(Operation *op) {
  const Type element = typeOf(op->getResult(0)).getElementType();
  if (element.isInteger(1))
    return op->emitOpError("is not defined on bool");
  if (isSmallFloat(element))
    return op->emitOpError("is not defined on floats of 8 bits or less, cast its operands");
  return success();
}

LogicalResult MatmulOp::verify() {
  if (getLibrary() && getPackedN())
    return emitOpError("a library needs operands that are not packed");
  if (getPackedN() && !isa<FloatType>(getType().getElementType()))
    return emitOpError("a packed operand must hold floats");
  if (getPackedN() && getTransposeRhs())
    return emitOpError("a packed operand must not be transposed");
  if (failed(checkProductType(*this)))
    return failure();
  return success();
}

int64_t MatmulOp::getFlops() {
  int64_t k = shapeOf(getLhs())[typeOf(getLhs()).getRank() - (getTransposeLhs() ? 2 : 1)];
  return product({2, k, elementCount(getType())});
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ConvOp::getKernelShape() {
  if (auto kernel = getKernel())
    return SmallVector<int64_t>(*kernel);
  ArrayRef<int64_t> weight = shapeOf(getWeight()).drop_front();
  return SmallVector<int64_t>(getWeightLayout() == Layout::channels_last ? weight.drop_back() : weight.drop_front());
}

bool ConvOp::isLaidOut() {
  return getPackedChannels() || getLayout() != Layout::channels_first || getWeightLayout() != Layout::channels_first;
}

int64_t ConvOp::getWeightChannelDim() {
  return getWeightLayout() == Layout::channels_last ? typeOf(getWeight()).getRank() - 1 : 1;
}

int64_t ConvOp::getOutputChannels() { return getPackedChannels() ? *getPackedChannels() : shapeOf(getWeight())[0]; }

/// The result's shape, of an operator or its adaptor.
template <typename Conv>
static FailureOr<SmallVector<int64_t>> shapeOfConv(std::optional<Location> loc, Conv conv) {
  auto input = typeOf(conv.getInput()), weight = typeOf(conv.getWeight());
  int64_t spatial = input.getRank() - 2;
  bool isPacked = conv.getPackedChannels().has_value();
  if (spatial < 1 || spatial > 3 || (!isPacked && weight.getRank() != input.getRank()))
    return emitOptionalError(loc, "conv of input rank ", input.getRank(), " and weight rank ", weight.getRank(),
                             ", give equal ranks from 3 to 5");
  // Transformed weights are f32 whatever the image is.
  const std::optional<ConvAlgorithm> algorithm = conv.getAlgorithm();
  const bool isTransformed = algorithm && *algorithm != ConvAlgorithm::shift_add;
  if (isTransformed && !weight.getElementType().isF32())
    return emitOptionalError(loc, "conv by Winograd's algorithm has weights of ", weight.getElementType(),
                             ", transform them to f32");
  if (!isTransformed && input.getElementType() != weight.getElementType())
    return emitOptionalError(loc, "conv input and weight have different element types");
  if (isPacked && (!conv.getKernel() || static_cast<int64_t>(conv.getKernel()->size()) != spatial))
    return emitOptionalError(loc, "a packed weight needs the 'kernel' attribute");
  const bool weightLast = conv.getWeightLayout() == Layout::channels_last;
  ArrayRef<int64_t> kernel = isPacked ? *conv.getKernel() : weight.getShape().slice(weightLast ? 1 : 2, spatial);
  ArrayRef<int64_t> strides = conv.getStrides(), pads = conv.getPads(), dilations = conv.getDilations();
  const bool last = conv.getLayout() == Layout::channels_last;
  const int64_t channels = input.getDimSize(last ? spatial + 1 : 1), groups = conv.getGroups();
  const int64_t outChannels = isPacked ? *conv.getPackedChannels() : weight.getDimSize(0);
  auto shape = convShape(loc, input.getShape(), {kernel, strides, pads, dilations, groups, outChannels, last});
  if (succeeded(shape) && !isPacked && weight.getDimSize(weightLast ? spatial + 1 : 1) != channels / groups)
    return emitOptionalError(loc, "conv of ", channels, " to ", outChannels, " channels in ", groups,
                             " groups does not match the shape of the weight");
  return shape;
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                       SmallVectorImpl<Type> &results) {
  auto shape = shapeOfConv(loc, adaptor);
  if (failed(shape))
    return failure();
  results.push_back(RankedTensorType::get(*shape, elementOf(adaptor.getInput())));
  return success();
}

/// Outputs along each side of a tile.
static int64_t outputsOf(ConvAlgorithm algorithm) { return algorithm == ConvAlgorithm::winograd2 ? 2 : 4; }

/// Whether blocks of an extent cover it, none of them empty.
static bool covers(int64_t blocks, int64_t block, int64_t extent) {
  return block >= 1 && blocks == numBlocks(extent, block);
}

static InFlightDiagnostic reportPackedWeight(ConvOp op) {
  return op.emitOpError("packed weight does not match ")
         << shapeOf(op.getInput()).back() << " to " << op.getOutputChannels() << " channels";
}

/// The weight of the sum over taps and channels: a pack_conv_weight result.
static LogicalResult verifyPackedWeight(ConvOp op) {
  ArrayRef<int64_t> weight = shapeOf(op.getWeight()), kernel = *op.getKernel();
  const auto groups = static_cast<int64_t>(op.getGroups());
  const int64_t channels = shapeOf(op.getInput()).back(), outputs = op.getOutputChannels();
  const bool isDepthwise = groups > 1 && groups == channels && groups == outputs;
  const bool fits = isDepthwise ? weight.size() == 3 && weight.take_front(2) == kernel && weight[2] >= outputs
                                : weight.size() == 6 && weight[0] == groups && weight.slice(2, 2) == kernel &&
                                      weight[4] == channels / groups && covers(weight[1], weight[5], outputs / groups);
  return fits ? success() : LogicalResult(reportPackedWeight(op));
}

static LogicalResult verifyWinograd(ConvOp op) {
  auto isOnes = [](ArrayRef<int64_t> values) { return llvm::all_of(values, [](int64_t value) { return value == 1; }); };
  const int64_t three[] = {3, 3};
  if (!op.getPackedChannels() || op.getGroups() != 1 || !isWinogradElement(op.getType().getElementType()) ||
      ArrayRef(op.getKernelShape()) != ArrayRef(three) || !isOnes(op.getStrides()) || !isOnes(op.getDilations()))
    return op.emitOpError(
        "'algorithm' is for 3x3 convolutions of f32, f16 or bf16 images, of stride 1, dilation 1 and one group, "
        "with packed weights");
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  const int64_t outputs = outputsOf(*op.getAlgorithm()), channels = shapeOf(op.getInput()).back();
  if (weight.size() != 5 || weight[3] > emit::kWinogradMostDepth || weight[4] > emit::kWinogradMostPanel ||
      weight[2] != (outputs + 2) * (outputs + 2) || !covers(weight[0], weight[3], channels) ||
      !covers(weight[1], weight[4], op.getOutputChannels()))
    return reportPackedWeight(op) << " by '" << stringifyConvAlgorithm(*op.getAlgorithm()) << "'";
  return success();
}

static LogicalResult verifyShiftAdd(ConvOp op) {
  SmallVector<int64_t> kernel = op.getKernelShape();
  if (!op.getPackedChannels() || op.getGroups() != 1 || op.getStrides().back() != 1)
    return op.emitOpError("'algorithm' shift_add needs packed weights, one group and stride 1 along the width");
  ArrayRef<int64_t> weight = shapeOf(op.getWeight());
  const Count taps = Count(kernel[1]) * op.getOutputChannels();
  if (weight.size() != 6 || weight[0] != 1 || weight[2] != kernel[0] || weight[3] != 1 ||
      weight[4] != shapeOf(op.getInput()).back() || weight[5] < 1 || weight[1] != numBlocks(taps.value(), weight[5]))
    return op.emitOpError("packed weight does not have the shape for 'algorithm' shift_add, in which each tap of a "
                          "kernel row has channels of its own");
  return success();
}

LogicalResult ConvOp::verify() {
  if (getPackedChannels() && (getLayout() != Layout::channels_last || typeOf(getInput()).getRank() != 4))
    return emitOpError("a packed weight needs a channels_last image");
  if (getPackedChannels() && getWeightLayout() != Layout::channels_first)
    return emitOpError("a packed weight must not have 'weight_layout', because packing defines the order");
  if (getLibrary() && getPackedChannels())
    return emitOpError("a library needs operands that are not packed");
  if (failed(checkProductType(*this)))
    return failure();
  if (getErrorBound() && (!isWinograd() || !getErrorBound()->isFinite() || !(getErrorBound()->convertToDouble() > 0)))
    return emitOpError(
        "'error_bound' must be a positive, finite number, and is allowed only with Winograd's 'algorithm'");
  if (getKernel() && !getPackedChannels())
    return emitOpError("has 'kernel' and a weight that is not packed, remove 'kernel' or set 'packed_channels'");
  // The result's type is compared after this: what follows reads the operands' extents.
  if ((getPackedChannels() || getAlgorithm()) && failed(shapeOfConv(getLoc(), *this)))
    return failure();
  if (isWinograd())
    return verifyWinograd(*this);
  if (getAlgorithm())
    return verifyShiftAdd(*this);
  return getPackedChannels() ? verifyPackedWeight(*this) : success();
}

bool ConvOp::isTunable() {
  const Type element = getType().getElementType();
  const size_t rank = shapeOf(getInput()).size();
  return hasOwnLoops(*this) && !isLaidOut() && (rank == 3 || rank == 4) &&
         (element.isF32() || element.isF16() || element.isBF16());
}

bool ConvOp::allowsTunedAlgorithm() { return true; }

bool ConvOp::isWinograd() { return getAlgorithm() && *getAlgorithm() != ConvAlgorithm::shift_add; }

static int64_t imageChannels(ConvOp op) {
  ArrayRef<int64_t> image = shapeOf(op.getInput());
  return op.getLayout() == Layout::channels_last ? image.back() : image[1];
}

StringRef ConvOp::getCostClass() {
  static constexpr ConvClasses kClasses = {"conv", "conv.pointwise", "conv.depthwise", "conv.3x3"};
  if (!isWinograd())
    return convCostClass(kClasses, getKernelShape(), getStrides(), getDilations(), static_cast<int64_t>(getGroups()),
                         imageChannels(*this));
  return *getAlgorithm() == ConvAlgorithm::winograd2 ? "conv-winograd2" : "conv-winograd4";
}

/// Operations of transformed tiles' products, and of the transforms.
static int64_t winogradFlops(ConvOp op) {
  // Operations that transform a tile's input, and its output, for one channel.
  struct Transforms {
    int64_t input, output;
  };
  const int64_t outputs = outputsOf(*op.getAlgorithm()), points = (outputs + 2) * (outputs + 2);
  const Transforms transforms = outputs == 2 ? Transforms{32, 24} : Transforms{288, 180};
  ArrayRef<int64_t> out = shapeOf(op.getResult());
  const int64_t channels = shapeOf(op.getInput()).back();
  const Count tiles = product({out[0], numBlocks(out[1], outputs), numBlocks(out[2], outputs)});
  return tiles * (Count(2 * points) * channels * out[3] + Count(channels) * transforms.input +
                  Count(out[3]) * transforms.output);
}

int64_t ConvOp::getFlops() {
  if (isWinograd())
    return winogradFlops(*this);
  return product({2, elementCount(getType()), imageChannels(*this) / static_cast<int64_t>(getGroups()),
                  product(getKernelShape())});
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

LogicalResult PackConvWeightOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto weight = typeOf(adaptor.getWeight());
  int64_t groups = adaptor.getGroups(), block = adaptor.getBlock();
  if (weight.getRank() != 4 || groups < 1 || block < 1 || weight.getDimSize(0) % groups)
    return emitOptionalError(loc, "must pack [M, C/groups, KH, KW] weights in positive blocks");
  int64_t outputs = weight.getDimSize(0), perGroup = outputs / groups;
  SmallVector<int64_t> shape;
  if (adaptor.getDepthwise())
    shape = {weight.getDimSize(2), weight.getDimSize(3), Count(numBlocks(outputs, block)) * block};
  else
    shape = {groups, numBlocks(perGroup, block), weight.getDimSize(2), weight.getDimSize(3), weight.getDimSize(1),
             block};
  results.push_back(RankedTensorType::get(shape, weight.getElementType()));
  return success();
}

LogicalResult PackConvWeightOp::verify() { return success(); }

LogicalResult PackWinogradWeightOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                     SmallVectorImpl<Type> &results) {
  auto weight = typeOf(adaptor.getWeight());
  const int64_t depth = adaptor.getDepth(), panel = adaptor.getPanel();
  if (weight.getRank() != 4 || weight.getDimSize(2) != 3 || weight.getDimSize(3) != 3)
    return emitOptionalError(loc, "must transform [M, C, 3, 3] weights");
  if (depth < 1 || panel < 1 || depth > emit::kWinogradMostDepth || panel > emit::kWinogradMostPanel)
    return emitOptionalError(loc, "must transform weights in blocks of a depth from 1 to ", emit::kWinogradMostDepth,
                             " and a panel from 1 to ", emit::kWinogradMostPanel);
  const int64_t outputs = outputsOf(adaptor.getAlgorithm());
  results.push_back(
      RankedTensorType::get({numBlocks(weight.getDimSize(1), depth), numBlocks(weight.getDimSize(0), panel),
                             (outputs + 2) * (outputs + 2), depth, panel},
                            weight.getElementType()));
  return success();
}

LogicalResult PackWinogradWeightOp::verify() { return success(); }

LogicalResult PackMatmulRhsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                SmallVectorImpl<Type> &results) {
  auto rhs = typeOf(adaptor.getRhs());
  int64_t block = adaptor.getBlock();
  if (rhs.getRank() < 2 || block < 1)
    return emitOptionalError(loc, "must pack matrices in positive blocks");
  ArrayRef<int64_t> extents = rhs.getShape();
  int64_t rows = extents[extents.size() - 2], columns = extents.back();
  if (adaptor.getTransposed())
    std::swap(rows, columns);
  SmallVector<int64_t> shape(extents.drop_back(2));
  shape.append({numBlocks(columns, block), rows, block});
  results.push_back(RankedTensorType::get(shape, rhs.getElementType()));
  return success();
}

LogicalResult PackMatmulRhsOp::verify() { return success(); }
