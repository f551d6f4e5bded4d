//===- SymbolNodes.cpp - Extents of a step, as ONNX nodes -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SymbolNodes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnxexport {

bool SymbolNodes::knows(const Extent &extent) const {
  if (extent.isConstant())
    return true;
  for (unsigned s = 0; s < extent.symbols().size(); ++s)
    if (extent.expr().isFunctionOfSymbol(s) &&
        llvm::none_of(scopes, [&](const Scope &scope) { return scope.symbols.count(s) != 0; }))
      return false;
  return true;
}

std::string SymbolNodes::vectorOf(const Extent &extent) {
  return extent.isConstant() ? numberOf(extent.most()) : valueOf(extent.expr(), extent.symbols());
}

std::string SymbolNodes::numberOf(int64_t value) {
  std::string &known = constants[value];
  if (known.empty())
    known = addConstant(value);
  return known;
}

std::string SymbolNodes::valueOf(AffineExpr expression, SymbolsAttr symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expression))
    return numberOf(number.getValue());
  // Inner graphs see the values of those around them.
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
      if (auto found = scope->symbols.find(symbol.getPosition()); found != scope->symbols.end())
        return found->second;
    } else if (auto found = scope->values.find(expression); found != scope->values.end()) {
      return found->second;
    }
  }
  std::string value = compute(expression, symbols);
  scopes.back().values[expression] = value;
  return value;
}

std::string SymbolNodes::quotient(const std::string &a, const std::string &by, bool mayBeNegative) {
  return addNode("Div", {mayBeNegative ? addNode("Sub", {a, addNode("Mod", {a, by})}) : a, by});
}

std::string SymbolNodes::compute(AffineExpr expression, SymbolsAttr symbols) {
  auto both = cast<AffineBinaryOpExpr>(expression);
  const bool mayBeNegative = llvm::any_of(
      samplePoints(symbols), [&](const Point &point) { return valueAt(both.getLHS(), point).value_or(-1) < 0; });
  const std::string a = valueOf(both.getLHS(), symbols);
  // A sum of a negative number is a difference.
  if (auto number = dyn_cast<AffineConstantExpr>(both.getRHS());
      number && number.getValue() < 0 && expression.getKind() == AffineExprKind::Add)
    return addNode("Sub", {a, numberOf(-number.getValue())});
  const std::string c = valueOf(both.getRHS(), symbols);
  switch (expression.getKind()) {
  case AffineExprKind::Add:
    return addNode("Add", {a, c});
  case AffineExprKind::Mul:
    return addNode("Mul", {a, c});
  case AffineExprKind::FloorDiv:
    return quotient(a, c, mayBeNegative);
  case AffineExprKind::CeilDiv:
    return quotient(addNode("Add", {a, addNode("Sub", {c, numberOf(1)})}), c, mayBeNegative);
  case AffineExprKind::Mod:
    return addNode("Mod", {a, c});
  default:
    llvm_unreachable("extents are expressions of symbols");
  }
}

} // namespace sluice::onnxexport
