//===- TilingAttributes.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Bridge/TilingAttributes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace sluice {

static std::string toText(const std::vector<AxisTiling> &tilings) {
  std::string text;
  for (const AxisTiling &tiling : tilings)
    text += concat(text.empty() ? "" : " ", tiling.isSplit() ? concat("S", tiling.dim) : "R");
  return text;
}

static Expected<std::vector<AxisTiling>> fromText(Attribute attribute, size_t numAxes, const std::string &what) {
  auto text = dyn_cast<StringAttr>(attribute);
  SmallVector<StringRef> words;
  if (text)
    text.getValue().split(words, ' ', -1, /*KeepEmpty=*/false);
  std::vector<AxisTiling> tilings;
  for (StringRef word : words) {
    uint32_t dim = 0;
    if (word == "R")
      tilings.push_back(AxisTiling::replicated());
    else if (word.consume_front("S") && !word.getAsInteger(10, dim))
      tilings.push_back(AxisTiling::split(dim));
  }
  if (tilings.size() != words.size() || tilings.size() != numAxes)
    return makeError(ErrorCode::InvalidInput, what, " is held in no way that there is, write 'R' or 'S' and a ",
                     "dimension for each of the mesh's ", numAxes, " axes");
  return tilings;
}

void annotateTiling(func::FuncOp function, const BridgedProgram &bridged, const MeshTiling &decided) {
  Builder builder(function.getContext());
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : decided.mesh.axes)
    sizes.push_back(axis.size);
  function->setAttr(kMeshAttribute, builder.getDenseI64ArrayAttr(sizes));
  llvm::MapVector<Operation *, SmallVector<Attribute>> held;
  for (size_t i = 0; i < bridged.values.size(); ++i) {
    StringAttr text = builder.getStringAttr(toText(decided.tiling.tensors[i]));
    if (auto argument = dyn_cast<BlockArgument>(bridged.values[i])) {
      function.setArgAttr(argument.getArgNumber(), kTilingAttribute, text);
      continue;
    }
    auto result = cast<OpResult>(bridged.values[i]);
    SmallVector<Attribute> &list = held[result.getOwner()];
    list.resize(result.getOwner()->getNumResults(), text);
    list[result.getResultNumber()] = text;
  }
  for (auto &[op, list] : held)
    op->setAttr(kTilingAttribute, builder.getArrayAttr(list));
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    SmallVector<Attribute> names;
    for (uint32_t rule : decided.tiling.rules[i])
      names.push_back(builder.getStringAttr(bridged.program.operators[i].rules[rule].name));
    bridged.operators[i]->setAttr(kRulesAttribute, builder.getArrayAttr(names));
  }
}

Expected<uint32_t> findRule(const ProgramOperator &op, StringRef name, const char *attribute) {
  std::string known;
  for (auto [i, rule] : llvm::enumerate(op.rules)) {
    if (name == rule.name)
      return static_cast<uint32_t>(i);
    known += concat(known.empty() ? "'" : ", '", rule.name, "'");
  }
  return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' has no such rule, attribute '", attribute,
                   "', use one of ", known);
}

static Expected<std::vector<uint32_t>> readRules(const ProgramOperator &op, Attribute attribute, size_t numAxes) {
  std::vector<uint32_t> rules(numAxes, 0);
  if (!attribute)
    return rules;
  auto names = dyn_cast<ArrayAttr>(attribute);
  if (!names || names.size() != numAxes)
    return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' does not have ", numAxes, " rules, attribute '",
                     kRulesAttribute, "', name one for each of the mesh's axes");
  for (auto [rule, name] : llvm::zip(rules, names)) {
    auto text = dyn_cast<StringAttr>(name);
    Expected<uint32_t> found = findRule(op, text ? text.getValue() : "", kRulesAttribute);
    if (!found)
      return propagate(found);
    rule = *found;
  }
  return rules;
}

Expected<MeshTiling> readTiling(func::FuncOp function, const BridgedProgram &bridged) {
  MeshTiling read;
  auto sizes = function->getAttrOfType<DenseI64ArrayAttr>(kMeshAttribute);
  for (int64_t size : sizes ? sizes.asArrayRef() : ArrayRef<int64_t>())
    read.mesh.axes.push_back({concat("axis", read.mesh.axes.size()), size});
  if (Status status = read.mesh.check(); !status)
    return propagate(status);
  const size_t numAxes = read.mesh.axes.size();
  for (size_t i = 0; i < bridged.values.size(); ++i) {
    Attribute text;
    if (auto argument = dyn_cast<BlockArgument>(bridged.values[i])) {
      text = function.getArgAttr(argument.getArgNumber(), kTilingAttribute);
    } else {
      auto result = cast<OpResult>(bridged.values[i]);
      Attribute given = result.getOwner()->getAttr(kTilingAttribute);
      auto list = dyn_cast_if_present<ArrayAttr>(given);
      if (given && (!list || list.size() != result.getOwner()->getNumResults()))
        return makeError(ErrorCode::InvalidInput, "tensor '", bridged.program.tensors[i].name,
                         "' is made by an operator whose attribute '", kTilingAttribute,
                         "' is no list with an entry a result, write [\"S0 R\"]");
      if (list)
        text = list[result.getResultNumber()];
    }
    read.tiling.tensors.emplace_back(numAxes);
    if (!text)
      continue;
    auto tilings = fromText(text, numAxes, concat("tensor '", bridged.program.tensors[i].name, "'"));
    if (!tilings)
      return propagate(tilings);
    read.tiling.tensors.back() = std::move(*tilings);
  }
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    auto rules = readRules(bridged.program.operators[i], bridged.operators[i]->getAttr(kRulesAttribute), numAxes);
    if (!rules)
      return propagate(rules);
    read.tiling.rules.push_back(std::move(*rules));
  }
  if (Status valid = validateTiling(bridged.program, read.mesh, read.tiling); !valid)
    return propagate(valid);
  return read;
}

void annotateSplits(const BridgedProgram &bridged, const std::vector<OperatorSplit> &splits) {
  for (const OperatorSplit &split : splits) {
    Operation *op = bridged.operators[split.op.index()];
    Builder builder(op->getContext());
    const std::string &rule = bridged.program.operators[split.op.index()].rules[split.rule].name;
    op->setAttr(kSplitAttribute,
                builder.getDictionaryAttr({builder.getNamedAttr("rule", builder.getStringAttr(rule)),
                                           builder.getNamedAttr("parts", builder.getI64IntegerAttr(split.parts))}));
  }
}

Expected<std::vector<OperatorSplit>> readSplits(const BridgedProgram &bridged) {
  std::vector<OperatorSplit> splits;
  for (size_t i = 0; i < bridged.operators.size(); ++i) {
    Attribute attribute = bridged.operators[i]->getAttr(kSplitAttribute);
    if (!attribute)
      continue;
    const ProgramOperator &op = bridged.program.operators[i];
    auto fields = dyn_cast<DictionaryAttr>(attribute);
    auto rule = fields ? fields.getAs<StringAttr>("rule") : StringAttr();
    auto parts = fields ? fields.getAs<IntegerAttr>("parts") : IntegerAttr();
    if (!rule || !parts || fields.size() != 2 || !parts.getType().isSignlessInteger(64))
      return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' says not how it is split, attribute '",
                       kSplitAttribute, "', write {parts = 2 : i64, rule = \"NAME\"}");
    Expected<uint32_t> found = findRule(op, rule.getValue(), kSplitAttribute);
    if (!found)
      return propagate(found);
    splits.push_back({OperatorId(i), *found, parts.getInt()});
  }
  if (Status valid = checkSplits(bridged.program, splits); !valid)
    return propagate(valid);
  return splits;
}

} // namespace sluice
