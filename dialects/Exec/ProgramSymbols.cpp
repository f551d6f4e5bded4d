//===- ProgramSymbols.cpp - Symbols of a program's extents ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Exec/ProgramSymbols.h"

#include "dialects/Dataflow/IR/Extents.h"

using namespace mlir;

namespace sluice::exec {

SmallVector<AffineExpr> rangeOf(InputOp input) {
  mlir::Attribute range = ExecDialect::RangeAttrHelper(input.getContext()).getAttr(input);
  if (auto map = dyn_cast_or_null<AffineMapAttr>(range))
    return llvm::to_vector(map.getValue().getResults());
  SmallVector<AffineExpr> numbers;
  if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(range))
    for (int64_t number : list.asArrayRef())
      numbers.push_back(getAffineConstantExpr(number, input.getContext()));
  return numbers;
}

static dataflow::ExtentsAttr lengthOf(StateOp state) {
  return dyn_cast_or_null<dataflow::ExtentsAttr>(state.getLengthAttr());
}

static LogicalResult checkLength(StateOp state, dataflow::SymbolsAttr symbols) {
  const dataflow::ExtentsAttr length = lengthOf(state);
  if (!length || length.getSymbols() != symbols || length.getMap().getNumResults() != 2 ||
      !isa<AffineSymbolExpr>(length.getMap().getResult(0)))
    return state.emitOpError() << "C16: state '" << state.getTensor() << "' has the length " << state.getLengthAttr()
                               << ", write #dataflow.extents with two results: a symbol of the program, and the value "
                                  "of this symbol in the next step";
  return success();
}

/// The symbol that is the length of a state.
static std::optional<ProgramSymbol> findKept(ProgramOp program, dataflow::SymbolsAttr symbols, size_t number) {
  const AffineExpr alone = getAffineSymbolExpr(static_cast<unsigned>(number), program.getContext());
  for (auto [i, state] : llvm::enumerate(program.getBody().getOps<StateOp>()))
    if (const dataflow::ExtentsAttr length = lengthOf(state); length && length.getMap().getResult(0) == alone)
      return ProgramSymbol{symbols.getNames()[number].getValue(),
                           symbols.getLeast()[number],
                           symbols.getMost()[number],
                           symbols.getSteps()[number],
                           ProgramSymbol::kKept,
                           static_cast<uint32_t>(i),
                           length.getMap().getResult(1)};
  return std::nullopt;
}

FailureOr<SmallVector<ProgramSymbol>> findSymbols(ProgramOp program) {
  auto symbols = dyn_cast_or_null<dataflow::SymbolsAttr>(program.getSymbolsAttr());
  if (program.getSymbolsAttr() && !symbols)
    return program.emitOpError() << "C16: has symbols " << program.getSymbolsAttr() << ", write #dataflow.symbols<...>";
  auto check = [&](auto port) -> LogicalResult {
    dataflow::SymbolsAttr own = dataflow::symbolsOf(port.getType());
    if (own && symbols && own != symbols)
      return port.emitOpError() << "C16: '" << port.getTensor() << "' and an earlier port have different symbols, "
                                << "express all extents by one #dataflow.symbols";
    symbols = own ? own : symbols;
    return success();
  };
  for (InputOp input : program.getBody().getOps<InputOp>())
    if (failed(check(input)))
      return failure();
  for (OutputOp output : program.getBody().getOps<OutputOp>())
    if (failed(check(output)))
      return failure();
  for (StateOp state : program.getBody().getOps<StateOp>()) {
    if (dataflow::symbolsOf(state.getType()))
      return state.emitOpError() << "C16: state '" << state.getTensor()
                                 << "' has extents that change between steps, give the state fixed extents";
    if (state.getLengthAttr() && failed(checkLength(state, symbols)))
      return failure();
  }
  SmallVector<ProgramSymbol> found;
  for (size_t s = 0; symbols && s < symbols.size(); ++s) {
    const AffineExpr alone = getAffineSymbolExpr(static_cast<unsigned>(s), program.getContext());
    std::optional<ProgramSymbol> symbol = findKept(program, symbols, s);
    if (symbols.isFound(s))
      symbol = {symbols.getNames()[s].getValue(),
                symbols.getLeast()[s],
                symbols.getMost()[s],
                symbols.getSteps()[s],
                ProgramSymbol::kFound,
                0};
    for (auto [i, input] : llvm::enumerate(program.getBody().getOps<InputOp>()))
      for (auto [d, extent] : llvm::enumerate(dataflow::extentsOf(cast<RankedTensorType>(input.getType()))))
        if (!symbol && extent.expr() == alone)
          symbol = {
              symbols.getNames()[s].getValue(), symbols.getLeast()[s],   symbols.getMost()[s], symbols.getSteps()[s],
              static_cast<uint32_t>(i),         static_cast<uint32_t>(d)};
    if (!symbol)
      return program.emitOpError() << "C16: symbol " << symbols.getNames()[s]
                                   << " is neither the extent of an input's dimension nor the length of a state, so no "
                                      "step can know its value";
    found.push_back(*symbol);
  }
  return found;
}

} // namespace sluice::exec
