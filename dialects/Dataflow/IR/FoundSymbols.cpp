//===- FoundSymbols.cpp - Where extents are found in a step ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/IR/FoundSymbols.h"

#include "dialects/Dataflow/IR/Extents.h"

using namespace mlir;

namespace sluice::dataflow {

static_assert(SymbolsAttr::kMostSymbols <= 32, "a SymbolSet has a bit for each symbol");

static SymbolSet symbolsOf(AffineMap map) {
  SymbolSet used = 0;
  for (unsigned s = 0; s < map.getNumSymbols(); ++s)
    if (map.isFunctionOfSymbol(s))
      used |= SymbolSet(1) << s;
  return used;
}

SymbolSet symbolsOfTypes(TypeRange types) {
  SymbolSet used = 0;
  for (Type type : types)
    if (ExtentsAttr extents = extentsOf(type))
      used |= symbolsOf(extents.getMap());
  return used;
}

SymbolSet symbolsUsedBy(Operation *op) {
  SymbolSet used = 0;
  op->walk([&](Operation *member) {
    used |= symbolsOfTypes(member->getOperandTypes()) | symbolsOfTypes(member->getResultTypes());
    if (auto numbers = dyn_cast<ExtentsOp>(member))
      used |= symbolsOf(numbers.getMap());
  });
  return used;
}

SymbolSet symbolsFoundBy(Operation *op) {
  SymbolSet found = 0;
  op->walk([&](TakeFirstOp take) { found |= SymbolSet(1) << take.getSymbol(); });
  return found;
}

/// The symbols that the members of a program find, and not just those within an operator of it.
static SymbolSet symbolsFoundIn(Block &program) {
  SymbolSet found = 0;
  for (Operation &member : program)
    found |= symbolsFoundBy(&member);
  return found;
}

void sortBehindFinders(Block &program) {
  SymbolSet missing = symbolsFoundIn(program);
  if (missing == 0)
    return;
  SmallVector<Operation *> left;
  for (Operation &member : program.without_terminator())
    left.push_back(&member);
  for (size_t before = left.size() + 1; left.size() < before;) {
    before = left.size();
    SmallVector<Operation *> later;
    llvm::SmallPtrSet<Operation *, 16> isLater;
    for (Operation *op : left) {
      const SymbolSet found = symbolsFoundBy(op);
      auto waits = [&](Value operand) { return isLater.contains(operand.getDefiningOp()); };
      if ((symbolsUsedBy(op) & missing & ~found) != 0 || llvm::any_of(op->getOperands(), waits)) {
        later.push_back(op);
        isLater.insert(op);
        continue;
      }
      op->moveBefore(program.getTerminator());
      missing &= ~found;
    }
    left = std::move(later);
  }
}

LogicalResult verifyFinders(Operation *op, Block &program) {
  SymbolSet missing = symbolsFoundIn(program) & ~symbolsOfTypes(op->getOperandTypes());
  if (missing == 0)
    return success();
  for (Operation &member : program) {
    const SymbolSet found = symbolsFoundBy(&member);
    if (symbolsUsedBy(&member) & missing & ~found)
      return op->emitOpError("member '")
             << member.getName() << "' uses an extent that only a later member computes, move that member forward";
    missing &= ~found;
  }
  return success();
}

} // namespace sluice::dataflow
