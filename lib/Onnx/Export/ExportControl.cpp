//===- ExportControl.cpp - Branches and loops -----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include "dialects/Dataflow/IR/ExtentBounds.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnxexport {
namespace {

LogicalResult chooseBranch(IfOp op, NodeWriter &writer) {
  Node node = writer.node("If", {writer.name(op.getCondition())});
  writer.subgraph(node, "then_branch", op.getThen().front(), /*isLoop=*/false, op.getCaptured());
  writer.subgraph(node, "else_branch", op.getOtherwise().front(), /*isLoop=*/false, op.getCaptured());
  return success();
}

bool isTrue(Value value) {
  std::optional<SmallVector<int64_t>> known = getIntegers(value);
  return known && known->size() == 1 && known->front() != 0;
}

/// Whether a loop runs as often as it may: what it stacks has no more room than that.
bool runsAll(LoopOp op) {
  if (!isTrue(op.getCondition()) || !isTrue(op.getBody().front().getTerminator()->getOperand(0)))
    return false;
  if (std::optional<SmallVector<int64_t>> trips = getIntegers(op.getTrips()))
    return trips->front() == static_cast<int64_t>(op.getMost());
  auto trips = op.getTrips().getDefiningOp<ExtentsOp>();
  return trips && op.getNumStacked() > 0 &&
         isSameExtent(Extent(trips.getMap().getResult(0), trips.getSymbols()),
                      extentsOf(op.getResult(op.getCarried().size()))[0]);
}

/// ONNX stacks as many tensors as iterations ran, and does not say how many those were.
LogicalResult repeat(LoopOp op, NodeWriter &writer) {
  const size_t carried = op.getCarried().size();
  if (!op.getResults().back().use_empty())
    return writer.refuse("an operator reads the number of iterations, which a Loop of ONNX does not return");
  if (op.getNumStacked() > 0 && !runsAll(op))
    return writer.refuse(
        "its stacked results have more slices than iterations run, which a Loop of ONNX does not allow");
  std::vector<std::string> operands{writer.name(op.getTrips()), writer.name(op.getCondition())};
  for (Value value : op.getCarried())
    operands.push_back(writer.name(value));
  Node node = writer.node("Loop", std::move(operands), kExportOpset, carried + op.getNumStacked());
  writer.subgraph(node, "body", op.getBody().front(), /*isLoop=*/true, op.getCaptured());
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<IfOp, chooseBranch>(),
    exports<LoopOp, repeat>(),
};

} // namespace

ArrayRef<ExportEntry> controlExports() { return kExports; }

} // namespace sluice::onnxexport
