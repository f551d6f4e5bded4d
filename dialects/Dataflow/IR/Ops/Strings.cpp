//===- Strings.cpp - Operators on text ------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
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

void detail::emitStringKernel(Operation *op, KernelEmitter &kernel) {
  auto function = cast<StringFunctionOpInterface>(op);
  kernel.callRuntime(KernelEmitter::Service::Strings, static_cast<uint32_t>(function.getStringFunction()),
                     function.getSettings());
}

} // namespace sluice::dataflow

namespace {
/// As abi.h has it.
class Settings {
public:
  Settings &number(int64_t value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  Settings &text(StringRef value) {
    number(static_cast<int64_t>(value.size()));
    bytes += value;
    return *this;
  }
  Settings &list(ArrayAttr values) {
    number(static_cast<int64_t>(values.size()));
    for (StringAttr value : values.getAsRange<StringAttr>())
      text(value.getValue());
    return *this;
  }
  std::string take() { return std::move(bytes); }

private:
  std::string bytes;
};
} // namespace

static Settings forElements(Value tensor) { return Settings().number(elementCount(tensor.getType())); }

StringFunction StringConstantOp::getStringFunction() { return StringFunction::constant; }
std::string StringConstantOp::getSettings() { return Settings().list(getValues()).take(); }
LogicalResult StringConstantOp::verify() {
  if (elementCount(getType()) != static_cast<int64_t>(getValues().size()))
    return emitOpError("has ") << getValues().size() << " texts for " << getType();
  return success();
}

StringFunction StringEqualOp::getStringFunction() { return StringFunction::equal; }
std::string StringEqualOp::getSettings() { return forElements(getLhs()).take(); }

StringFunction StringConcatOp::getStringFunction() { return StringFunction::concat; }
std::string StringConcatOp::getSettings() { return forElements(getLhs()).take(); }

StringFunction StringFindOp::getStringFunction() { return StringFunction::find; }
std::string StringFindOp::getSettings() { return forElements(getInput()).list(getKeys()).take(); }

StringFunction StringNormalizeOp::getStringFunction() { return StringFunction::normalize; }
std::string StringNormalizeOp::getSettings() {
  return forElements(getInput())
      .number(static_cast<int64_t>(getChange()))
      .number(getCaseSensitive())
      .list(getStopWords())
      .take();
}
LogicalResult StringNormalizeOp::verify() {
  if (typeOf(getInput()).getRank() != 1)
    return emitOpError("takes a list, got ") << getInput().getType();
  int64_t room = std::max<int64_t>(shapeOf(getInput())[0], 1);
  if (shapeOf(getKept()) != ArrayRef(room) || typeOf(getCount()).getRank() != 0)
    return emitOpError("has room for ") << room << " and one count, got " << getKept().getType() << " and "
                                        << getCount().getType();
  return success();
}

StringFunction StringSplitOp::getStringFunction() { return StringFunction::split; }
std::string StringSplitOp::getSettings() {
  return forElements(getInput()).number(shapeOf(getParts()).back()).text(getDelimiter()).take();
}
LogicalResult StringSplitOp::verify() {
  ArrayRef<int64_t> parts = shapeOf(getParts());
  if (parts.empty() || parts.drop_back() != shapeOf(getInput()) || shapeOf(getCounts()) != shapeOf(getInput()) ||
      typeOf(getMost()).getRank() != 0)
    return emitOpError("splits ") << getInput().getType() << " to " << getParts().getType() << ", "
                                  << getCounts().getType() << " and " << getMost().getType();
  return success();
}
