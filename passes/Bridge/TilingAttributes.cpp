//===- TilingAttributes.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/TilingAttributes.h"
#include "sluice/Support/Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sluice {

static dataflow::TilingAttr toAttribute(MLIRContext *context, const std::vector<AxisTiling> &tilings) {
  SmallVector<int64_t> dims, blocks;
  for (const AxisTiling &tiling : tilings) {
    dims.push_back(tiling.isSplit() ? static_cast<int64_t>(tiling.dim) : dataflow::TilingAttr::kReplicated);
    blocks.push_back(tiling.blocks);
  }
  return dataflow::TilingAttr::get(context, dims, blocks);
}

static Expected<std::vector<AxisTiling>> fromAttribute(Attribute attribute, size_t numAxes, const std::string &what) {
  auto tiling = dyn_cast<dataflow::TilingAttr>(attribute);
  if (!tiling || tiling.getDims().size() != numAxes ||
      llvm::any_of(tiling.getDims(), [](int64_t dim) { return dim > std::numeric_limits<int32_t>::max(); }))
    return makeError(ErrorCode::InvalidInput, what, " must have a tiling for each of the ", numAxes,
                     " axes of the mesh, attribute '", dataflow::DataflowDialect::TilingAttrHelper::getNameStr().str(),
                     "', write 'R', or 'S' and a dimension, for each axis");
  std::vector<AxisTiling> tilings;
  for (auto [dim, blocks] : llvm::zip(tiling.getDims(), tiling.getBlocks()))
    tilings.push_back(dim == dataflow::TilingAttr::kReplicated
                          ? AxisTiling::replicated()
                          : AxisTiling::split(static_cast<uint32_t>(dim), static_cast<uint32_t>(blocks)));
  return tilings;
}

void annotateTiling(func::FuncOp function, const BridgedProgram &bridged, const MeshTiling &decided) {
  Builder builder(function.getContext());
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : decided.mesh.axes)
    sizes.push_back(axis.size);
  dataflow::DataflowDialect::MeshAttrHelper(function->getContext())
      .setAttr(function, builder.getDenseI64ArrayAttr(sizes));
  llvm::MapVector<Operation *, SmallVector<Attribute>> held;
  for (size_t i = 0; i < bridged.values.size(); ++i) {
    const dataflow::TilingAttr tiling = toAttribute(function.getContext(), decided.tiling.tensors[i]);
    if (auto argument = dyn_cast<BlockArgument>(bridged.values[i])) {
      function.setArgAttr(argument.getArgNumber(), dataflow::DataflowDialect::TilingAttrHelper::getNameStr(), tiling);
      continue;
    }
    auto result = cast<OpResult>(bridged.values[i]);
    SmallVector<Attribute> &list = held[result.getOwner()];
    list.resize(result.getOwner()->getNumResults(), tiling);
    list[result.getResultNumber()] = tiling;
  }
  for (auto &[op, list] : held)
    dataflow::DataflowDialect::TilingAttrHelper(op->getContext()).setAttr(op, builder.getArrayAttr(list));
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    SmallVector<Attribute> names;
    for (uint32_t rule : decided.tiling.rules[i])
      names.push_back(builder.getStringAttr(bridged.program.operators[i].rules[rule].name));
    dataflow::DataflowDialect::RulesAttrHelper(function.getContext())
        .setAttr(bridged.operators[i], builder.getArrayAttr(names));
  }
}

Expected<uint32_t> findRule(const ProgramOperator &op, StringRef name, StringRef attribute) {
  std::vector<std::string> known;
  for (auto [i, rule] : llvm::enumerate(op.rules)) {
    if (name == rule.name)
      return static_cast<uint32_t>(i);
    known.push_back(rule.name);
  }
  return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' has no rule '", name.take_front(80).str(),
                   "', attribute '", attribute.str(), "', use ", alternatives(known));
}

static Expected<std::vector<uint32_t>> readRules(const ProgramOperator &op, Attribute attribute, size_t numAxes) {
  std::vector<uint32_t> rules(numAxes, 0);
  if (!attribute)
    return rules;
  auto names = dyn_cast<ArrayAttr>(attribute);
  if (!names || names.size() != numAxes)
    return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' must have ", numAxes, " rules, attribute '",
                     dataflow::DataflowDialect::RulesAttrHelper::getNameStr().str(),
                     "', name one for each axis of the mesh");
  for (auto [rule, name] : llvm::zip(rules, names)) {
    auto text = dyn_cast<StringAttr>(name);
    SLUICE_ASSIGN_OR_RETURN(uint32_t found, findRule(op, text ? text.getValue() : "",
                                                     dataflow::DataflowDialect::RulesAttrHelper::getNameStr()));
    rule = found;
  }
  return rules;
}

Expected<MeshTiling> readTiling(func::FuncOp function, const BridgedProgram &bridged) {
  MeshTiling read;
  auto sizes = dataflow::DataflowDialect::MeshAttrHelper(function->getContext()).getAttr(function);
  for (int64_t size : sizes ? sizes.asArrayRef() : ArrayRef<int64_t>())
    read.mesh.axes.push_back({concat("axis", read.mesh.axes.size()), size});
  SLUICE_RETURN_IF_ERROR(read.mesh.check());
  const size_t numAxes = read.mesh.axes.size();
  for (size_t i = 0; i < bridged.values.size(); ++i) {
    Attribute tiling;
    if (auto argument = dyn_cast<BlockArgument>(bridged.values[i])) {
      tiling = function.getArgAttr(argument.getArgNumber(), dataflow::DataflowDialect::TilingAttrHelper::getNameStr());
    } else {
      auto result = cast<OpResult>(bridged.values[i]);
      if (auto list = dataflow::DataflowDialect::TilingAttrHelper(function.getContext()).getAttr(result.getOwner()))
        tiling = list[result.getResultNumber()];
    }
    read.tiling.tensors.emplace_back(numAxes);
    if (!tiling)
      continue;
    SLUICE_ASSIGN_OR_RETURN(auto tilings,
                            fromAttribute(tiling, numAxes, concat("tensor '", bridged.program.tensors[i].name, "'")));
    read.tiling.tensors.back() = std::move(tilings);
  }
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(
        auto rules,
        readRules(bridged.program.operators[i],
                  bridged.operators[i]->getAttr(dataflow::DataflowDialect::RulesAttrHelper::getNameStr()), numAxes));
    read.tiling.rules.push_back(std::move(rules));
  }
  // Of a program as text this is no fault of a solver.
  if (const Status valid = validateTiling(bridged.program, read.mesh, read.tiling); !valid)
    return makeError(ErrorCode::InvalidInput, valid.error().message,
                     ", attributes 'dataflow.mesh' and 'dataflow.tiling', correct the program");
  return read;
}

void annotateSplits(const BridgedProgram &bridged, const std::vector<OperatorSplit> &splits) {
  for (const OperatorSplit &split : splits) {
    Operation *op = bridged.operators[split.op.index()];
    const std::string &rule = bridged.program.operators[split.op.index()].rules[split.rule].name;
    dataflow::DataflowDialect::SplitAttrHelper(op->getContext())
        .setAttr(op, dataflow::SplitAttr::get(op->getContext(), rule, split.parts));
  }
}

Expected<std::vector<OperatorSplit>> readSplits(const BridgedProgram &bridged) {
  std::vector<OperatorSplit> splits;
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    Operation *op = bridged.operators[i];
    dataflow::SplitAttr split = dataflow::DataflowDialect::SplitAttrHelper(op->getContext()).getAttr(op);
    if (!split)
      continue;
    SLUICE_ASSIGN_OR_RETURN(uint32_t found, findRule(bridged.program.operators[i], split.getRule(),
                                                     dataflow::DataflowDialect::SplitAttrHelper::getNameStr()));
    splits.push_back({OperatorId(i), found, split.getParts()});
  }
  SLUICE_RETURN_IF_ERROR(checkSplits(bridged.program, splits));
  return splits;
}

} // namespace sluice
