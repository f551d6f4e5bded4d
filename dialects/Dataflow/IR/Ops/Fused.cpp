//===- Fused.cpp - groups of operators that run as one kernel -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"

using namespace mlir;
using namespace sluice::dataflow;

Operation *FusedOp::getAnchor() {
  for (Operation &op : getBody().front().without_terminator())
    if (isa<KernelOpInterface>(op))
      return &op;
  return nullptr;
}

ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  // dataflow.fused (%x = %a : type, ...) -> (types) { ... }
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) || parser.parseColonType(arguments.back().type));
  };
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne) ||
      parser.parseArrowTypeList(result.types) || parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types;
  for (const OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  Region *body = result.addRegion();
  return failure(parser.resolveOperands(operands, types, loc, result.operands) || parser.parseRegion(*body, arguments));
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), printer, [&](auto pair) {
    auto [argument, operand] = pair;
    printer.printRegionArgument(argument, {}, /*omitType=*/true);
    printer << " = " << operand << " : " << operand.getType();
  });
  printer << ") -> (";
  llvm::interleaveComma(getResultTypes(), printer);
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// Behind the member with loops of its own come functions of each element where
/// it is, and they end in what the group yields.
static LogicalResult verifyEpilogue(FusedOp group, YieldOp yield) {
  Operation *anchor = group.getAnchor();
  if (!anchor)
    return success();
  llvm::SmallPtrSet<Value, 8> epilogue(anchor->result_begin(), anchor->result_end());
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return epilogue.contains(operand); }))
      continue;
    if (!cast<KernelOpInterface>(anchor).allowsEpilogue())
      return group.emitOpError("member '")
             << anchor->getName() << "' has an epilogue, which this operator does not support";
    if (!isa<ElementwiseOpInterface>(op) || !haveSameShape(op.getResult(0).getType(), anchor->getResult(0).getType()))
      return group.emitOpError("member '")
             << op.getName() << "' must map each element of '" << anchor->getName() << "'";
    epilogue.insert(op.getResult(0));
  }
  if (yield.getNumOperands() != anchor->getNumResults())
    return group.emitOpError("yields ") << yield.getNumOperands() << " values, and '" << anchor->getName()
                                        << "' computes " << anchor->getNumResults() << " values";
  for (Value value : yield.getValues())
    if (!epilogue.contains(value))
      return group.emitOpError("yields a value that does not depend on '") << anchor->getName() << "'";
  return success();
}

LogicalResult FusedOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getOperandTypes())
    return emitOpError("region arguments do not match the operands");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("yields types that differ from the result types");
  unsigned anchors = 0;
  for (Operation &op : block.without_terminator()) {
    bool isAnchor = isa<KernelOpInterface>(op);
    anchors += isAnchor;
    if (!isAnchor && !isa<ElementwiseOpInterface, ElementalOpInterface, ConstantOp>(op))
      return emitOpError("member '") << op.getName()
                                     << "' can be computed neither element by element nor by a kernel of its own";
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()); !dense || !dense.isSplat())
        return emitOpError("holds a constant that is not a splat");
  }
  if (anchors > 1)
    return emitOpError("has ") << anchors << " members with a kernel of their own, at most one is allowed";
  for (Value value : yield.getValues())
    if (isa<BlockArgument>(value))
      return emitOpError("yields an unchanged operand");
  return verifyEpilogue(*this, yield);
}

/// Sum over the members of what one of CostOpInterface's methods says.
template <typename Fn>
static int64_t sumMembers(FusedOp op, Fn method) {
  Count total;
  for (Operation &member : op.getBody().front().without_terminator())
    if (auto cost = dyn_cast<CostOpInterface>(member))
      total += method(cost);
  return total;
}

int64_t FusedOp::getFlops() {
  return sumMembers(*this, [](CostOpInterface op) { return op.getFlops(); });
}

int64_t FusedOp::getBytesMoved() {
  return detail::totalBytes(getOperandTypes()) + detail::totalBytes(getResultTypes());
}

int64_t FusedOp::getWorkspaceBytes() {
  return sumMembers(*this, [](CostOpInterface op) { return op.getWorkspaceBytes(); });
}

StringRef FusedOp::getCostClass() {
  if (Operation *anchor = getAnchor())
    return cast<CostOpInterface>(anchor).getCostClass();
  Operation *heaviest = nullptr;
  for (Operation &member : getBody().front().without_terminator())
    if (auto cost = dyn_cast<CostOpInterface>(member))
      if (!heaviest || cost.getFlops() > cast<CostOpInterface>(heaviest).getFlops())
        heaviest = &member;
  return heaviest ? cast<CostOpInterface>(heaviest).getCostClass() : StringRef("elementwise");
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// Whether a member's value reaches the group's anchor: it is then read in
/// another order than results are written.
static bool feedsAnchor(Operation *member, Operation *anchor) {
  return member == anchor || llvm::any_of(member->getUsers(), [&](Operation *user) {
           return user->getBlock() == member->getBlock() && feedsAnchor(user, anchor);
         });
}

Value sluice::dataflow::viewedValue(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

bool sluice::dataflow::isLeadingSlice(SliceOp slice) {
  return llvm::all_of(slice.getStarts(), [](int64_t start) { return start == 0; }) &&
         llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
}

Value sluice::dataflow::slicedTensor(Value operand) {
  auto slice = operand.getDefiningOp<SliceOp>();
  return slice && isa<FusedOp>(slice->getParentOp()) && isLeadingSlice(slice) ? slice.getInput() : operand;
}

SmallVector<unsigned> sluice::dataflow::overwritableOperands(Operation *op) {
  SmallVector<unsigned> operands;
  if (op->getNumResults() != 1)
    return operands;
  auto group = dyn_cast<FusedOp>(op);
  Operation *anchor = group ? group.getAnchor() : nullptr;
  auto isReadInStep = [&](Operation *user) {
    return isa<ElementwiseOpInterface, YieldOp>(user) && !(anchor && feedsAnchor(user, anchor));
  };
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (operand.get().getType() != op->getResult(0).getType())
      continue;
    auto isOtherView = [&](Value other) {
      return other != operand.get() && viewedValue(other) == viewedValue(operand.get());
    };
    if (llvm::any_of(op->getOperands(), isOtherView))
      continue;
    auto kernel = dyn_cast<KernelOpInterface>(op);
    const bool isUpdated = kernel && kernel.updatesOperand(i);
    if (isUpdated || (group ? llvm::all_of(group.getBody().getArgument(i).getUsers(), isReadInStep) : isReadInStep(op)))
      operands.push_back(i);
  }
  // Elemental members ask for elements in an order of their own.
  auto isInStep = [&](Operation &member) {
    return &member == anchor || isa<ElementwiseOpInterface, ConstantOp, YieldOp>(member);
  };
  if (group && !llvm::all_of(group.getBody().front(), isInStep))
    operands.clear();
  // A library writes all of the result before the epilogue reads anything.
  if (auto library = dyn_cast_or_null<LibraryOpInterface>(anchor); library && library.getLibrary()) {
    std::optional<LibraryAddition> addition = libraryAddition(op);
    llvm::erase_if(operands, [&](unsigned operand) { return !addition || operand != addition->operand; });
  }
  return operands;
}
