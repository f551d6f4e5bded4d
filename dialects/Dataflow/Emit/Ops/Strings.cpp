//===- Strings.cpp - Kernels of operators on text -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Runtime/abi.h"

using namespace mlir;
using namespace sluice::dataflow;

static_assert(sizeof(sluice_string) == kStringBytes && alignof(sluice_string) == kStringBytes,
              "the runtime's texts are the dialect's");

namespace {
/// What a function wants to know, as abi.h has it.
class Settings {
public:
  Settings &number(int64_t value) {
    llvm::append_range(bytes, bytesOf(value));
    return *this;
  }
  Settings &text(StringRef value) {
    number(static_cast<int64_t>(value.size()));
    llvm::append_range(bytes, value);
    return *this;
  }
  Settings &list(ArrayAttr values) {
    number(static_cast<int64_t>(values.size()));
    for (StringAttr value : values.getAsRange<StringAttr>())
      text(value.getValue());
    return *this;
  }
  /// The kernel is a call of the function.
  void call(KernelEmitter &kernel, sluice_string_function function) const {
    kernel.callRuntime(KernelEmitter::Service::Strings, function, bytes);
  }

private:
  SmallVector<char> bytes;
};
} // namespace

static Settings forElements(Value tensor) { return Settings().number(elementCount(tensor.getType())); }

static void emitConstantKernel(StringConstantOp op, KernelEmitter &kernel) {
  Settings().list(op.getValues()).call(kernel, SLUICE_STRING_CONSTANT);
}

static void emitEqualKernel(StringEqualOp op, KernelEmitter &kernel) {
  forElements(op.getLhs()).call(kernel, SLUICE_STRING_EQUAL);
}

static void emitConcatKernel(StringConcatOp op, KernelEmitter &kernel) {
  forElements(op.getLhs()).call(kernel, SLUICE_STRING_CONCAT);
}

static void emitFindKernel(StringFindOp op, KernelEmitter &kernel) {
  forElements(op.getInput()).list(op.getKeys()).call(kernel, SLUICE_STRING_FIND);
}

static void emitNormalizeKernel(StringNormalizeOp op, KernelEmitter &kernel) {
  forElements(op.getInput())
      .number(static_cast<int64_t>(op.getChange()))
      .number(op.getCaseSensitive())
      .list(op.getStopWords())
      .call(kernel, SLUICE_STRING_NORMALIZE);
}

static void emitSplitKernel(StringSplitOp op, KernelEmitter &kernel) {
  forElements(op.getInput())
      .number(shapeOf(op.getParts()).back())
      .text(op.getDelimiter())
      .number(op.getWhole())
      .call(kernel, SLUICE_STRING_SPLIT);
}

static void emitMatchKernel(StringMatchOp op, KernelEmitter &kernel) {
  forElements(op.getInput()).text(op.getPattern()).call(kernel, SLUICE_STRING_MATCH);
}

static sluice_number_type numberType(Value tensor) {
  Type type = elementOf(tensor);
  if (isa<FloatType>(type))
    return type.isF32() ? SLUICE_NUMBER_F32 : SLUICE_NUMBER_F64;
  return isUnsignedElement(type) ? SLUICE_NUMBER_U64 : SLUICE_NUMBER_I64;
}

static void emitToNumberKernel(StringToNumberOp op, KernelEmitter &kernel) {
  forElements(op.getInput()).number(numberType(op.getResult())).call(kernel, SLUICE_STRING_TO_NUMBER);
}

static void emitFromNumberKernel(StringFromNumberOp op, KernelEmitter &kernel) {
  forElements(op.getInput()).number(numberType(op.getInput())).call(kernel, SLUICE_STRING_FROM_NUMBER);
}

static void emitCheckKernel(CheckOp op, KernelEmitter &kernel) {
  forElements(op.getInput()).text(op.getMessage()).call(kernel, SLUICE_CHECK);
}

static void emitDecodeImageKernel(DecodeImageOp op, KernelEmitter &kernel) {
  ArrayRef<int64_t> image = op.getType().getShape();
  forElements(op.getInput())
      .number(image[0])
      .number(image[1])
      .number(static_cast<int64_t>(op.getFormat()))
      .call(kernel, SLUICE_DECODE_IMAGE);
}

void sluice::dataflow::attachStringsKernels(MLIRContext *context) {
  attach<KernelModel<emitConstantKernel>, KernelModel<emitEqualKernel>, KernelModel<emitConcatKernel>,
         KernelModel<emitFindKernel>, KernelModel<emitNormalizeKernel>, KernelModel<emitSplitKernel>,
         KernelModel<emitMatchKernel>, KernelModel<emitToNumberKernel>, KernelModel<emitFromNumberKernel>,
         KernelModel<emitCheckKernel>, KernelModel<emitDecodeImageKernel>>(context);
}
