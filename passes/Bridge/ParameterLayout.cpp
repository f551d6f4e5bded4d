//===- ParameterLayout.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/ParameterLayout.h"

#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Machine/FileTier.h"
#include "sluice/Support/Units.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;

namespace sluice {

using namespace dataflow;

int64_t numRanksOf(func::FuncOp function) {
  auto ranks = DataflowDialect::RanksAttrHelper(function->getContext()).getAttr(function);
  return ranks ? ranks.getInt() : 1;
}

std::vector<Operation *> expressionOf(ArrayRef<Value> values) {
  llvm::SetVector<Operation *> members;
  for (Value value : values)
    members.insert(value.getDefiningOp());
  for (size_t i = 0; i < members.size(); ++i)
    for (Value operand : members[i]->getOperands())
      members.insert(operand.getDefiningOp());
  std::vector<Operation *> order(members.begin(), members.end());
  llvm::sort(order, [](Operation *a, Operation *c) { return a->isBeforeInBlock(c); });
  return order;
}

/// Which ranks have the same value of a constant expression or state: per rank,
/// the number of its value, from 0 in order of the ranks.
static std::vector<uint32_t> differentValues(Value value, int64_t numRanks) {
  llvm::SetVector<GroupAttr> groups;
  for (Operation *op : expressionOf(value)) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      groups.insert(collective.getRankGroup());
    if (auto state = dyn_cast<StateOp>(op); state && state.getCuts())
      for (auto cut : state.getCuts()->getAsRange<CutAttr>())
        groups.insert(cut.getGroup());
  }
  std::map<std::vector<int64_t>, uint32_t> known;
  std::vector<uint32_t> numbers;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    std::vector<int64_t> positions;
    for (GroupAttr group : groups)
      positions.push_back(group.positionOf(rank));
    numbers.push_back(known.emplace(std::move(positions), static_cast<uint32_t>(known.size())).first->second);
  }
  return numbers;
}

namespace {
/// Appends values to a layout, in sections of the same ranks.
class Writer {
public:
  explicit Writer(ParameterLayout &layout) : layout(layout) {}

  /// The value's offset. `pieces`: per rank, which of the different values it has;
  /// empty where one rank runs the program.
  int64_t append(Value value, const std::vector<uint32_t> &pieces) {
    if (!pieces.empty()) {
      if (layout.sections.empty() || layout.sections.back().pieces != pieces) {
        endSection();
        layout.sections.push_back({layout.bytes, pieces});
      }
      layout.sectionOf.push_back(layout.sections.size() - 1);
    }
    layout.bytes = alignUp(layout.bytes);
    layout.values.push_back(value);
    layout.offsets.push_back(layout.bytes);
    layout.bytes += tensorBytes(value.getType());
    return layout.offsets.back();
  }

  /// What comes next begins at a block of the file.
  int64_t startBlock() { return layout.bytes = alignUp(layout.bytes, kFileBlockBytes); }

  /// Until it ends, a section's size is where it began.
  void endSection() {
    if (layout.sections.empty())
      return;
    layout.bytes = (layout.bytes + kParameterPage - 1) / kParameterPage * kParameterPage;
    layout.sections.back().bytes = layout.bytes - layout.sections.back().bytes;
  }

private:
  ParameterLayout &layout;
};

enum class Part { None, Parameter, State, ZeroState };

Part partOf(const BridgedGraph &bridge, size_t tensor) {
  if (bridge.graph.tensors()[tensor].kind == TensorKind::Parameter)
    return Part::Parameter;
  auto held = bridge.values[tensor].getDefiningOp<StateOp>();
  if (!held)
    return Part::None;
  auto splat = dyn_cast<SplatElementsAttr>(held.getValue());
  bool isZero = splat && splat.getSplatValue<Attribute>() == OpBuilder(held).getZeroAttr(splat.getElementType());
  return isZero ? Part::ZeroState : Part::State;
}
} // namespace

ParameterLayout layOutParameters(const BridgedGraph &bridge, int64_t numRanks) {
  ParameterLayout layout;
  layout.homeOffsets.assign(bridge.graph.numTensors(), 0);
  std::map<std::vector<uint32_t>, std::vector<size_t>> parameters, states;
  std::vector<size_t> zeros;
  Writer writer(layout);
  for (const BridgedExpert &expert : bridge.experts) {
    layout.expertOffsets.push_back(writer.startBlock());
    for (TensorId weight : expert.weights)
      layout.homeOffsets[weight.index()] = writer.append(bridge.values[weight.index()], {});
  }
  for (size_t i = 0; i < bridge.values.size(); ++i)
    if (bridge.graph.tensors()[i].isPooled)
      continue;
    else if (Part part = partOf(bridge, i); part == Part::ZeroState)
      zeros.push_back(i);
    else if (part != Part::None)
      (part == Part::State
           ? states
           : parameters)[numRanks > 1 ? differentValues(bridge.values[i], numRanks) : std::vector<uint32_t>()]
          .push_back(i);
  for (const auto &[pieces, tensors] : parameters)
    for (size_t i : tensors)
      layout.homeOffsets[i] = writer.append(bridge.values[i], pieces);
  for (const auto &[pieces, tensors] : states)
    for (size_t i : tensors) {
      const int64_t offset = writer.append(bridge.values[i], pieces);
      if (layout.stateInitial < 0)
        layout.stateInitial = offset;
      layout.homeOffsets[i] = offset - layout.stateInitial;
    }
  writer.endSection();
  layout.stateBytes = layout.stateInitial < 0 ? 0 : layout.bytes - layout.stateInitial;
  for (size_t i : zeros) {
    layout.homeOffsets[i] = alignUp(layout.stateBytes);
    layout.stateBytes = layout.homeOffsets[i] + bridge.graph.tensors()[i].bytes;
  }
  return layout;
}

} // namespace sluice
