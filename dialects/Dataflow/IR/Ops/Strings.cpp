//===- Strings.cpp - Operators on text ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::dataflow {

bool isString(Type type) { return isa<StringType>(type); }

bool usesStrings(Operation *op) {
  return llvm::any_of(
      llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())),
      [](Type type) {
        auto tensor = dyn_cast<RankedTensorType>(type);
        return tensor && isString(tensor.getElementType());
      });
}

} // namespace sluice::dataflow

LogicalResult StringConstantOp::verify() {
  if (elementCount(getType()) != static_cast<int64_t>(getValues().size()))
    return emitOpError("has ") << getValues().size() << " texts for " << getType();
  return success();
}

LogicalResult StringNormalizeOp::verify() {
  if (typeOf(getInput()).getRank() != 1)
    return emitOpError("needs an input of rank 1, got ") << getInput().getType();
  int64_t room = std::max<int64_t>(shapeOf(getInput())[0], 1);
  if (shapeOf(getKept()) != ArrayRef(room) || typeOf(getCount()).getRank() != 0)
    return emitOpError("must return at most ")
           << room << " strings and one count, got " << getKept().getType() << " and " << getCount().getType();
  return success();
}

LogicalResult StringSplitOp::verify() {
  ArrayRef<int64_t> parts = shapeOf(getParts());
  if (parts.empty() || parts.drop_back() != shapeOf(getInput()) || shapeOf(getCounts()) != shapeOf(getInput()) ||
      typeOf(getMost()).getRank() != 0)
    return emitOpError("has result types that do not match the split of ")
           << getInput().getType() << ": " << getParts().getType() << ", " << getCounts().getType() << " and "
           << getMost().getType();
  return success();
}

LogicalResult DecodeImageOp::verify() {
  ArrayRef<int64_t> image = getType().getShape();
  int64_t channels = getFormat() == PixelFormat::grayscale ? 1 : 3;
  if (typeOf(getInput()).getRank() != 1 || image.size() != 3 || image[2] != channels)
    return emitOpError("must return an image of rows, columns and ")
           << channels << " channels for a list of bytes, got " << getInput().getType() << " and " << getType();
  return success();
}
