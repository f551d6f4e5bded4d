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

static Expected<std::vector<uint32_t>> readRules(const ProgramOperator &op, Attribute attribute, size_t numAxes) {
  std::vector<uint32_t> rules(numAxes, 0);
  if (!attribute)
    return rules;
  auto names = dyn_cast<ArrayAttr>(attribute);
  if (!names || names.size() != numAxes)
    return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' does not have ", numAxes, " rules, attribute '",
                     kRulesAttribute, "', name one for each of the mesh's axes");
  for (auto [rule, name] : llvm::zip(rules, names)) {
    std::string known;
    auto isNamed = [&](const TilingRule &each) {
      known += concat(known.empty() ? "'" : ", '", each.name, "'");
      auto text = dyn_cast<StringAttr>(name);
      return text && text.getValue() == each.name;
    };
    rule = static_cast<uint32_t>(std::find_if(op.rules.begin(), op.rules.end(), isNamed) - op.rules.begin());
    if (rule == op.rules.size())
      return makeError(ErrorCode::InvalidInput, "operator '", op.name, "' has no such rule, attribute '",
                       kRulesAttribute, "', use one of ", known);
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

} // namespace sluice
