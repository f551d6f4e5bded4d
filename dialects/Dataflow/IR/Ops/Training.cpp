//===- Training.cpp - What only training graphs hold ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/ConvShape.h"
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

void StateOp::build(OpBuilder &, OperationState &state, Type type, StringAttr name, ElementsAttr value,
                    UnitAttr trainable) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.name = name, properties.value = value, properties.trainable = trainable;
  state.addTypes(type);
}

LogicalResult StateOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                        SmallVectorImpl<Type> &results) {
  auto type = dyn_cast<RankedTensorType>(adaptor.getValue().getType());
  if (!type)
    return emitOptionalError(loc, "type must be a tensor");
  if (std::optional<ArrayAttr> cuts = adaptor.getCuts())
    for (auto cut : cuts->getAsRange<CutAttr>()) {
      FailureOr<RankedTensorType> part = partType(type, cut);
      if (failed(part) && cut.getBlocks() > 1)
        return emitOptionalError(loc, "cannot cut dimension ", cut.getDim(), " of ", type, " in ", cut.getBlocks(),
                                 " blocks of ", cut.getGroup().size(), " equal parts each");
      if (failed(part))
        return emitOptionalError(loc, "cannot divide dimension ", cut.getDim(), " of ", type, " into ",
                                 cut.getGroup().size(), " equal parts");
      type = *part;
    }
  results.push_back(type);
  return success();
}

LogicalResult StateOp::copyInitial(int64_t rank, char *destination) {
  auto type = cast<RankedTensorType>(getValue().getType());
  if (!getCuts())
    return copyConstant(getValue(), destination);
  std::vector<char> whole;
  TensorView view{type, nullptr};
  bool isSplat;
  if (!getConstantBytes(getValue(), view, isSplat) || isSplat) {
    whole.resize(tensorBytes(type));
    if (failed(copyConstant(getValue(), whole.data())))
      return failure();
    view.data = whole.data();
  }
  // What is cut stays until the part of it is there.
  std::vector<char> part;
  for (auto cut : getCuts()->getAsRange<CutAttr>()) {
    RankedTensorType partOf = *partType(view.type, cut);
    std::vector<char> next(tensorBytes(partOf));
    const int64_t blocks = cut.getBlocks();
    copyPart({*typeInBlocks(view.type, cut.getDim(), blocks), view.data}, cut.getDim() + 1,
             cut.getGroup().positionOf(rank), {*typeInBlocks(partOf, cut.getDim(), blocks), next.data()});
    part = std::move(next);
    view = {partOf, part.data()};
  }
  std::copy_n(view.data, tensorBytes(view.type), destination);
  return success();
}

LogicalResult StateOp::verify() {
  if (getName().empty())
    return emitOpError("has no name");
  if (getTrainable() && !isa<FloatType>(getType().getElementType()))
    return emitOpError("is trainable and holds ") << getType().getElementType() << " elements instead of floats";
  if (ExtentsAttr length = getLengthAttr())
    if (length.getMap().getNumResults() != 2 || !isa<AffineSymbolExpr>(length.getMap().getResult(0)))
      return emitOpError("has the length ") << length << ", give a symbol, and its value in the next step";
  return success();
}

//===----------------------------------------------------------------------===//
// dropout_mask
//===----------------------------------------------------------------------===//

LogicalResult DropoutMaskOp::verify() {
  if (elementCount(getStep().getType()) != 1)
    return emitOpError("step must be one number");
  double keep = getKeep().convertToDouble();
  if (!(keep >= 0 && keep <= 1))
    return emitOpError("keep must be a probability from 0 to 1");
  return success();
}

int64_t DropoutMaskOp::getFlops() { return 8 * elementCount(getType()); }

//===----------------------------------------------------------------------===//
// conv_weight_gradient
//===----------------------------------------------------------------------===//

LogicalResult ConvWeightGradientOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getInput()), g = shapeOf(getGradient()), weight = shapeOf(getResult());
  size_t spatial = in.size() < 2 ? 0 : in.size() - 2;
  if (spatial < 1 || g.size() != in.size() || weight.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getDilations().size() != spatial)
    return emitOpError("strides, pads_low, dilations, input, gradient and result differ in rank: ")
           << getStrides().size() << ", " << getPadsLow().size() << " and " << getDilations().size()
           << " entries for tensors of " << in.size() << ", " << g.size() << " and " << weight.size()
           << " dimensions, give tensors of one rank and two entries fewer";
  auto groups = static_cast<int64_t>(getGroups());
  if (groups < 1 || in[1] % groups || g[1] % groups || weight[0] != g[1] || weight[1] != in[1] / groups ||
      in[0] != g[0])
    return emitOpError("channels, groups and batch of input, gradient and result do not match");
  Type element = getType().getElementType();
  if (typeOf(getInput()).getElementType() != element || typeOf(getGradient()).getElementType() != element)
    return emitOpError("operands and result differ in element type");
  for (size_t d = 0; d < spatial; ++d)
    if (getStrides()[d] < 1 || getDilations()[d] < 1 || !llvm::isInt<32>(getStrides()[d]) ||
        !llvm::isInt<32>(getDilations()[d]) || !llvm::isInt<32>(getPadsLow()[d]))
      return emitOpError("strides and dilations must be at least 1 and below 2^31, and pads_low must fit 32 bits");
  return success();
}

bool ConvWeightGradientOp::allowsEpilogue() { return false; }

StringRef ConvWeightGradientOp::getCostClass() {
  static constexpr ConvClasses kClasses = {"conv_weight_gradient", "conv_weight_gradient.pointwise",
                                           "conv_weight_gradient.depthwise", "conv_weight_gradient.3x3"};
  return convCostClass(kClasses, shapeOf(getResult()).drop_front(2), getStrides(), getDilations(),
                       static_cast<int64_t>(getGroups()), shapeOf(getInput())[1]);
}

int64_t ConvWeightGradientOp::getFlops() {
  return 2 * elementCount(getGradient().getType()) * product(shapeOf(getResult()).drop_front());
}

//===----------------------------------------------------------------------===//
// pool_gradient
//===----------------------------------------------------------------------===//

LogicalResult PoolGradientOp::verify() {
  ArrayRef<int64_t> in = shapeOf(getResult()), out = shapeOf(getGradient());
  size_t spatial = getKernel().size();
  if (in.size() != spatial + 2 || out.size() != in.size() || getStrides().size() != spatial ||
      getPadsLow().size() != spatial || getPadsHigh().size() != spatial || getDilations().size() != spatial)
    return emitOpError("kernel, strides, pads, dilations, gradient and result differ in rank: ")
           << spatial << ", " << getStrides().size() << ", " << getPadsLow().size() << ", " << getPadsHigh().size()
           << " and " << getDilations().size() << " entries for tensors of " << out.size() << " and " << in.size()
           << " dimensions, give tensors of one rank and two entries fewer";
  if (in[0] != out[0] || in[1] != out[1])
    return emitOpError("must keep batch and channels");
  for (size_t d = 0; d < spatial; ++d)
    for (int64_t value : {getKernel()[d], getStrides()[d], getDilations()[d]})
      if (value < 1 || !llvm::isInt<32>(value) || !llvm::isInt<32>(getPadsLow()[d]) ||
          !llvm::isInt<32>(getPadsHigh()[d]))
        return emitOpError(
            "kernel, strides and dilations must be at least 1 and below 2^31, and pads must fit 32 bits");
  size_t wanted = getKind() == PoolKind::average ? 0 : getKind() == PoolKind::max ? 1 : 2;
  if (getSaved().size() != wanted)
    return emitOpError("'") << stringifyPoolKind(getKind()) << "' must save " << wanted
                            << (wanted == 1 ? " tensor" : " tensors") << ", and saves " << getSaved().size();
  for (auto [i, saved] : llvm::enumerate(getSaved()))
    if (saved.getType() != (i == 0 ? getResult().getType() : getGradient().getType()))
      return emitOpError("saved tensor ") << i << " differs in type from that of the pooling operator";
  if (typeOf(getGradient()).getElementType() != getType().getElementType())
    return emitOpError("changes the element type");
  return success();
}

int64_t PoolGradientOp::getFlops() { return elementCount(getGradient().getType()) * product(getKernel()); }

//===----------------------------------------------------------------------===//
// batch_norm_train
//===----------------------------------------------------------------------===//

LogicalResult BatchNormTrainOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &results) {
  auto input = typeOf(adaptor.getInput());
  if (input.getRank() < 2)
    return emitOptionalError(loc, "input has no channels");
  auto vector = RankedTensorType::get({input.getDimSize(1)}, input.getElementType());
  for (Value parameter : {adaptor.getScale(), adaptor.getBias()})
    if (parameter.getType() != vector)
      return emitOptionalError(loc, "scale and bias must be ", vector, ", one value for each channel");
  results.assign({input, vector, vector});
  return success();
}

LogicalResult BatchNormTrainOp::verify() {
  if (elementCount(getInput().getType()) == 0)
    return emitOpError("has an input without elements, of which no statistics exist");
  return success();
}

int64_t BatchNormTrainOp::getFlops() { return 8 * elementCount(getInput().getType()); }
