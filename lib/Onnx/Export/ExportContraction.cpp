//===- ExportContraction.cpp - Products and convolutions to ONNX ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include "dialects/Dataflow/IR/ExtentBounds.h"

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::rankOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

constexpr const char *kLaidOut = "its layout was chosen for a machine, export an earlier phase";
constexpr const char *kBeyondBytes = "its zero point is outside the range of the quantized type, which ONNX does not "
                                     "allow, use a zero point inside the range";

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

template <typename ConvLikeOp>
void setWindows(Node node, ConvLikeOp op, ArrayRef<int64_t> kernel, ArrayRef<int64_t> pads) {
  node.set("kernel_shape", kernel)
      .set("strides", op.getStrides())
      .set("pads", pads)
      .set("dilations", op.getDilations())
      .set("group", static_cast<int64_t>(op.getGroups()));
}

LogicalResult conv(ConvOp op, NodeWriter &writer) {
  if (op.isLaidOut())
    return writer.refuse(kLaidOut);
  setWindows(writer.node("Conv", writer.operands()), op, op.getKernelShape(), op.getPads());
  return success();
}

using BytesAndZeroPoint = std::pair<Value, Value>;

/// What an integer product multiplies, each beside its zero point; empty for other operators.
SmallVector<BytesAndZeroPoint> byteOperandsOf(Operation *op) {
  if (auto matmul = dyn_cast<IntegerMatmulOp>(op))
    return {{matmul.getLhs(), matmul.getLhsZeroPoint()}, {matmul.getRhs(), matmul.getRhsZeroPoint()}};
  if (auto conv = dyn_cast<IntegerConvOp>(op))
    return {{conv.getInput(), conv.getInputZeroPoint()}, {conv.getWeight(), conv.getWeightZeroPoint()}};
  return {};
}

std::optional<SmallVector<int32_t>> constantIntegers(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  SmallVector<int32_t> values(static_cast<int64_t>(elementCount(value.getType())));
  if (failed(copyConstant(constant.getValue(), reinterpret_cast<char *>(values.data()))))
    return std::nullopt;
  return values;
}

/// Whether ONNX's zero point, which has the type of the bytes, says the same as ours without a Cast.
bool isByteZeroPoint(Value zero, Type element) {
  if (auto cast = zero.getDefiningOp<CastOp>())
    return elementTypeOf(cast.getInput()) == element;
  std::optional<SmallVector<int32_t>> values = constantIntegers(zero);
  const bool isSigned = !element.isUnsignedInteger();
  return values && llvm::all_of(*values, [&](int32_t value) {
           return isSigned ? llvm::isInt<8>(value) : llvm::isUInt<8>(value);
         });
}

std::string byteZeroPoint(StringRef what, BytesAndZeroPoint operand, NodeWriter &writer) {
  auto [bytes, zero] = operand;
  if (!zero)
    return "";
  Type element = elementTypeOf(bytes);
  if (!isByteZeroPoint(zero, element))
    return writer.step("Cast", {writer.name(zero)}).set("to", int64_t(elementTypeToOnnx(element))).output();
  if (auto cast = zero.getDefiningOp<CastOp>())
    return writer.name(cast.getInput());
  SmallVector<int32_t> values = *constantIntegers(zero);
  return writer.bytes(what, element, shapeOf(zero), SmallVector<char>(values.begin(), values.end()));
}

/// Whether a product has a zero point that no byte holds, for which ONNX has no form.
bool hasZeroPointBeyondBytes(Operation *op) {
  return llvm::any_of(byteOperandsOf(op), [](BytesAndZeroPoint operand) {
    auto [bytes, zero] = operand;
    return zero && constantIntegers(zero) && !isByteZeroPoint(zero, elementTypeOf(bytes));
  });
}

/// The bytes and their zero points, less trailing ones that are missing.
std::vector<std::string> byteOperands(NodeWriter &writer) {
  SmallVector<BytesAndZeroPoint> of = byteOperandsOf(&writer.op);
  std::vector<std::string> operands{writer.name(of[0].first), writer.name(of[1].first),
                                    byteZeroPoint("zero_point", of[0], writer),
                                    byteZeroPoint("weight_zero_point", of[1], writer)};
  while (operands.back().empty())
    operands.pop_back();
  return operands;
}

LogicalResult integerMatmul(IntegerMatmulOp op, NodeWriter &writer) {
  if (op.getPanels())
    return writer.refuse(kLaidOut);
  if (hasZeroPointBeyondBytes(op))
    return writer.refuse(kBeyondBytes);
  writer.node("MatMulInteger", byteOperands(writer));
  return success();
}

LogicalResult integerConv(IntegerConvOp op, NodeWriter &writer) {
  if (op.getPanels() || op.getLayout() != Layout::channels_first)
    return writer.refuse(kLaidOut);
  if (hasZeroPointBeyondBytes(op))
    return writer.refuse(kBeyondBytes);
  setWindows(writer.node("ConvInteger", byteOperands(writer)), op, op.getKernelShape(), op.getPads());
  return success();
}

/// Only as the input of a product in the same blocks is there an attribute for it.
LogicalResult roundBlocks(RoundBlocksOp op, NodeWriter &writer) {
  const bool isInput = llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto product = dyn_cast<BlockMatmulOp>(user);
    return product && product.getLhs() == op.getResult() && product.getBlock() == op.getBlock();
  });
  return isInput
             ? success()
             : writer.refuse("an operator other than a matrix product reads the weights that are quantized in blocks");
}

LogicalResult blockMatmul(BlockMatmulOp op, NodeWriter &writer) {
  constexpr int64_t kBytes = 4;
  auto rounded = op.getLhs().getDefiningOp<RoundBlocksOp>();
  std::vector<std::string> operands{writer.name(rounded ? rounded.getInput() : op.getLhs())};
  for (Value operand : op->getOperands().drop_front())
    operands.push_back(writer.name(operand));
  auto node = writer.contribNode("MatMulNBits", operands);
  if (rounded)
    node.set("accuracy_level", kBytes);
  node.set("K", shapeOf(op.getLhs()).back())
      .set("N", shapeOf(op.getWeight())[0])
      .set("bits", static_cast<int64_t>(op.getBits()))
      .set("block_size", static_cast<int64_t>(op.getBlock()));
  return success();
}

LogicalResult convTranspose(ConvTransposeOp op, NodeWriter &writer) {
  const Extents from = extentsOf(op.getInput()), to = extentsOf(op.getResult());
  ArrayRef<int64_t> kernel = shapeOf(op.getWeight()).drop_front(2);
  SmallVector<int64_t> pads(op.getPadsLow()), extra;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Extent whole = (from[2 + i] - 1) * op.getStrides()[i] +
                         Extent((kernel[i] - 1) * op.getDilations()[i] + 1 - op.getPadsLow()[i]);
    // What is cut off at the end; a result longer than the windows reach goes on with zeros.
    const int64_t high = whole.most() - to[2 + i].most();
    if (!isSameExtent(whole, to[2 + i] + high))
      return writer.refuse(
          "the number of cropped elements depends on sizes with ranges, give one size for each dimension with --dim");
    pads.push_back(std::max<int64_t>(high, 0));
    extra.push_back(std::max<int64_t>(-high, 0));
  }
  Node node = writer.node("ConvTranspose", writer.operands());
  setWindows(node, op, kernel, pads);
  if (llvm::any_of(extra, [](int64_t one) { return one != 0; }))
    node.set("output_padding", extra);
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<MatmulOp, matmul>(),
    exports<ConvOp, conv>(),
    exports<IntegerMatmulOp, integerMatmul>(),
    exports<IntegerConvOp, integerConv>(),
    exports<BlockMatmulOp, blockMatmul>(),
    exports<RoundBlocksOp, roundBlocks>(),
    exports<ConvTransposeOp, convTranspose>(),
};

} // namespace

bool isWrittenByUsers(Operation &op) {
  if (!isa<ConstantOp, CastOp>(op) || !elementTypeOf(op.getResult(0)).isSignlessInteger(32) || op.use_empty())
    return false;
  Value value = op.getResult(0);
  return llvm::all_of(op.getUsers(), [&](Operation *user) {
    SmallVector<BytesAndZeroPoint> operands = byteOperandsOf(user);
    return !operands.empty() && llvm::all_of(operands, [&](BytesAndZeroPoint operand) {
      return operand.second != value || isByteZeroPoint(value, elementTypeOf(operand.first));
    });
  });
}

ArrayRef<ExportEntry> contractionExports() { return kExports; }

} // namespace sluice::onnxexport
