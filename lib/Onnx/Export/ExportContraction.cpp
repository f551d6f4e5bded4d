//===- ExportContraction.cpp - Products and convolutions to ONNX ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::rankOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

constexpr const char *kLaidOut = "it was laid out for a machine, export an earlier phase";

LogicalResult matmul(MatmulOp op, NodeWriter &writer) {
  if (op.getPackedN())
    return writer.refuse(kLaidOut);
  std::vector<std::string> operands = writer.operands();
  if (!op.getTransposeLhs() && !op.getTransposeRhs()) {
    writer.node("MatMul", operands);
    return success();
  }
  if (rankOf(op.getLhs()) == 2 && rankOf(op.getRhs()) == 2) {
    Node node = writer.node("Gemm", operands);
    if (op.getTransposeLhs())
      node.set("transA", int64_t(1));
    if (op.getTransposeRhs())
      node.set("transB", int64_t(1));
    return success();
  }
  // ONNX transposes matrices only; of batches, the last two dimensions change places first.
  auto transposed = [&](const std::string &x, int64_t rank) {
    SmallVector<int64_t> permutation;
    for (int64_t i = 0; i < rank; ++i)
      permutation.push_back(i);
    std::swap(permutation[rank - 2], permutation[rank - 1]);
    return writer.step("Transpose", {x}).set("perm", permutation).output();
  };
  if (op.getTransposeLhs())
    operands[0] = transposed(operands[0], rankOf(op.getLhs()));
  if (op.getTransposeRhs())
    operands[1] = transposed(operands[1], rankOf(op.getRhs()));
  writer.node("MatMul", operands);
  return success();
}

LogicalResult conv(ConvOp op, NodeWriter &writer) {
  if (op.isLaidOut())
    return writer.refuse(kLaidOut);
  writer.node("Conv", writer.operands())
      .set("kernel_shape", op.getKernelShape())
      .set("strides", op.getStrides())
      .set("pads", op.getPads())
      .set("dilations", op.getDilations())
      .set("group", static_cast<int64_t>(op.getGroups()));
  return success();
}

/// A zero point, which ONNX has in the bytes' own type.
std::string byteZeroPoint(Value zero, Value bytes, NodeWriter &writer) {
  if (!zero)
    return "";
  Type element = elementTypeOf(bytes);
  return writer.step("Cast", {writer.name(zero)}).set("to", int64_t(elementTypeToOnnx(element))).output();
}

/// x, w and their zero points, less trailing ones that are missing.
std::vector<std::string> byteOperands(Value x, Value w, Value xZero, Value wZero, NodeWriter &writer) {
  const std::string first = byteZeroPoint(xZero, x, writer), second = byteZeroPoint(wZero, w, writer);
  std::vector<std::string> operands{writer.name(x), writer.name(w), first, second};
  while (operands.back().empty())
    operands.pop_back();
  return operands;
}

LogicalResult integerMatmul(IntegerMatmulOp op, NodeWriter &writer) {
  if (op.getPanels())
    return writer.refuse(kLaidOut);
  writer.node("MatMulInteger",
              byteOperands(op.getLhs(), op.getRhs(), op.getLhsZeroPoint(), op.getRhsZeroPoint(), writer));
  return success();
}

LogicalResult integerConv(IntegerConvOp op, NodeWriter &writer) {
  if (op.getPanels() || op.getLayout() != Layout::channels_first)
    return writer.refuse(kLaidOut);
  writer
      .node("ConvInteger",
            byteOperands(op.getInput(), op.getWeight(), op.getInputZeroPoint(), op.getWeightZeroPoint(), writer))
      .set("kernel_shape", op.getKernelShape())
      .set("strides", op.getStrides())
      .set("pads", op.getPads())
      .set("dilations", op.getDilations())
      .set("group", static_cast<int64_t>(op.getGroups()));
  return success();
}

LogicalResult convTranspose(ConvTransposeOp op, NodeWriter &writer) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()).drop_front(2), to = shapeOf(op.getResult()).drop_front(2);
  ArrayRef<int64_t> kernel = shapeOf(op.getWeight()).drop_front(2);
  SmallVector<int64_t> pads(op.getPadsLow()), extra;
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t whole = (from[i] - 1) * op.getStrides()[i] + (kernel[i] - 1) * op.getDilations()[i] + 1;
    // What is cut off at the end; a result longer than the windows reach goes on with zeros.
    int64_t high = whole - op.getPadsLow()[i] - to[i];
    pads.push_back(std::max<int64_t>(high, 0));
    extra.push_back(std::max<int64_t>(-high, 0));
  }
  Node node = writer.node("ConvTranspose", writer.operands());
  node.set("kernel_shape", kernel)
      .set("strides", op.getStrides())
      .set("pads", pads)
      .set("dilations", op.getDilations())
      .set("group", static_cast<int64_t>(op.getGroups()));
  if (llvm::any_of(extra, [](int64_t one) { return one != 0; }))
    node.set("output_padding", extra);
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<MatmulOp, matmul>(),
    exports<ConvOp, conv>(),
    exports<IntegerMatmulOp, integerMatmul>(),
    exports<IntegerConvOp, integerConv>(),
    exports<ConvTransposeOp, convTranspose>(),
};

} // namespace

ArrayRef<ExportEntry> contractionExports() { return kExports; }

} // namespace sluice::onnxexport
