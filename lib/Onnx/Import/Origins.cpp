//===- Origins.cpp - The nodes that a value follows from ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Origins.h"

#include "Extents.h"
#include "Intervals.h"

#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "sluice/Support/Error.h"
#include "sluice/Support/Text.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

std::string Origins::nameOf(StringRef node) const {
  const std::string op = operators.lookup(node);
  return sluice::concat(op, op.empty() ? "'" : " '", excerpt(node.str()), "'");
}

static bool isUnknown(Value value) { return isa<RankedTensorType>(value.getType()) && !isConstantExpression(value); }

static bool hasNoBound(Value value) {
  return isUnknown(value) && (!isa<IntegerType>(typeOf(value).getElementType()) || !intervalOf(value).hasHigh());
}

/// The operand that makes a result what it is: one of which a part holds, else one without a bound, else one that is
/// not known.
static Value reasonOf(Operation *op, bool isPart, const Extents &extents) {
  auto first = [&](llvm::function_ref<bool(Value)> is) {
    auto found = llvm::find_if(op->getOperands(), is);
    return found == op->operand_end() ? Value() : *found;
  };
  if (isPart)
    return first([&](Value operand) { return extents.isBounded(operand); });
  Value open = first(hasNoBound);
  return open ? open : first(isUnknown);
}

std::string Origins::describe(Value value, const Extents &extents, StringRef node) const {
  constexpr size_t kMostNamed = 6;
  const bool isPart = extents.isBounded(value);
  std::vector<std::string> way{nameOf(node)};
  auto append = [&](const std::string &name) {
    if (way.back() != name)
      way.push_back(name);
  };
  for (Operation *op = value.getDefiningOp(); value; op = value ? value.getDefiningOp() : nullptr) {
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      if (auto function = dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp()))
        append(sluice::concat("input '", excerpt(inputName(function, argument.getArgNumber()).str()), "'"));
      break;
    }
    append(nameOf(nodeName(op->getLoc())));
    value = reasonOf(op, isPart, extents);
  }
  // A long way is told by its ends.
  std::string text;
  for (size_t i = way.size(); i-- > 0;) {
    const bool isLeftOut = i >= kMostNamed && i + kMostNamed < way.size();
    if (isLeftOut && i + kMostNamed + 1 == way.size())
      text += " -> ...";
    if (!isLeftOut)
      text += (text.empty() ? "" : " -> ") + way[i];
  }
  return " (" + text + ")";
}

} // namespace sluice::onnximport
