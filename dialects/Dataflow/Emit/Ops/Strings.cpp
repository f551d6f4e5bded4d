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
      .call(kernel, SLUICE_STRING_SPLIT);
}

void sluice::dataflow::attachStringsKernels(MLIRContext *context) {
  attach<KernelModel<emitConstantKernel>, KernelModel<emitEqualKernel>, KernelModel<emitConcatKernel>,
         KernelModel<emitFindKernel>, KernelModel<emitNormalizeKernel>, KernelModel<emitSplitKernel>>(context);
}
