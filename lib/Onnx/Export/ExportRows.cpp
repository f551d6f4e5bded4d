//===- ExportRows.cpp - Reductions and normalisations to ONNX -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::rankOf;

namespace sluice::onnxexport {
namespace {

/// By ReduceKind.
constexpr const char *kReductions[] = {"ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
                                       "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

LogicalResult reduce(ReduceOp op, NodeWriter &writer) {
  ArrayRef<int64_t> axes = op.getAxes();
  if (axes.empty() && rankOf(op.getInput()) != 0)
    return writer.refuse("it reduces over no axis");
  std::vector<std::string> inputs = writer.operands();
  // Axes became an input, of ReduceSum at opset 13 and of the others at 18. Bool came at 20.
  bool asInput = op.getKind() == ReduceKind::sum || writer.opset() >= 18;
  if (asInput && !axes.empty())
    inputs.push_back(writer.integers("axes", axes));
  bool isBool = op.getType().getElementType().isInteger(1);
  Node node = writer.node(kReductions[static_cast<size_t>(op.getKind())], inputs, isBool ? 20 : kExportOpset);
  if (!asInput && !axes.empty())
    node.set("axes", axes);
  node.set("keepdims", int64_t(op.getKeepDims()));
  return success();
}

LogicalResult argReduce(ArgReduceOp op, NodeWriter &writer) {
  writer.node(op.getLargest() ? "ArgMax" : "ArgMin", writer.operands())
      .set("axis", static_cast<int64_t>(op.getAxis()))
      .set("keepdims", int64_t(op.getKeepDims()))
      .set("select_last_index", int64_t(op.getSelectLast()));
  return success();
}

LogicalResult cumsum(CumsumOp op, NodeWriter &writer) {
  std::vector<std::string> inputs{writer.name(op.getInput()), writer.integer("axis", op.getAxis())};
  (op.getProduct() ? writer.node("CumProd", inputs, 26) : writer.node("CumSum", inputs))
      .set("exclusive", int64_t(op.getExclusive()))
      .set("reverse", int64_t(op.getReverse()));
  return success();
}

LogicalResult topk(TopkOp op, NodeWriter &writer) {
  writer.node("TopK", {writer.name(op.getInput()), writer.integers("k", {static_cast<int64_t>(op.getK())})})
      .set("axis", static_cast<int64_t>(op.getAxis()))
      .set("largest", int64_t(op.getLargest()))
      .set("sorted", int64_t(1));
  return success();
}

LogicalResult softmax(SoftmaxOp op, NodeWriter &writer) {
  writer.node(op.getLog() ? "LogSoftmax" : "Softmax", writer.operands())
      .set("axis", static_cast<int64_t>(op.getAxis()));
  return success();
}

LogicalResult layerNorm(LayerNormOp op, NodeWriter &writer) {
  writer.node("LayerNormalization", writer.operands())
      .set("axis", static_cast<int64_t>(op.getAxis()))
      .set("epsilon", op.getEpsilon());
  return success();
}

LogicalResult instanceNorm(InstanceNormOp op, NodeWriter &writer) {
  writer.node("InstanceNormalization", writer.operands()).set("epsilon", op.getEpsilon());
  return success();
}

LogicalResult batchNorm(BatchNormOp op, NodeWriter &writer) {
  writer.node("BatchNormalization", writer.operands()).set("epsilon", op.getEpsilon());
  return success();
}

LogicalResult lrn(LrnOp op, NodeWriter &writer) {
  if (op.getChannelAxis() != 1)
    return writer.refuse("its layout was chosen for a machine, export an earlier phase");
  writer.node("LRN", writer.operands())
      .set("size", static_cast<int64_t>(op.getSize()))
      .set("alpha", op.getAlpha())
      .set("beta", op.getBeta())
      .set("bias", op.getBias());
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<ReduceOp, reduce>(),       exports<ArgReduceOp, argReduce>(),       exports<CumsumOp, cumsum>(),
    exports<TopkOp, topk>(),           exports<SoftmaxOp, softmax>(),           exports<LayerNormOp, layerNorm>(),
    exports<BatchNormOp, batchNorm>(), exports<InstanceNormOp, instanceNorm>(), exports<LrnOp, lrn>(),
};

} // namespace

ArrayRef<ExportEntry> rowExports() { return kExports; }

} // namespace sluice::onnxexport
