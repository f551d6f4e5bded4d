//===- Control.cpp - if, loop, concurrent ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/FoundSymbols.h"
#include "dialects/Dataflow/IR/ProgramMemory.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

/// The sum, over the operators of a program, of what one of CostOpInterface's methods says.
template <typename Method>
static Count sumOf(Block &program, Method method) {
  Count total = 0;
  for (Operation &member : program.without_terminator())
    if (auto cost = dyn_cast<CostOpInterface>(member); cost && !isa<ReshapeOp>(member))
      total += method(cost);
  return total;
}

static Count flopsOf(Block &program) {
  return sumOf(program, [](CostOpInterface op) { return op.getFlops(); });
}

/// An operator without loops of its own is taken to read at most one element of each operand for each element that it
/// makes: an iteration that gathers its slice of a sequence does not read the whole sequence.
static Count bytesOf(Block &program) {
  return sumOf(program, [](CostOpInterface op) -> Count {
    auto group = dyn_cast<FusedOp>(op.getOperation());
    if (isa<KernelOpInterface>(op.getOperation()) || (group && group.getAnchor()))
      return op.getBytesMoved();
    const int64_t made = sluice::dataflow::detail::totalElements(op->getResultTypes());
    Count bytes = sluice::dataflow::detail::totalBytes(op->getResultTypes());
    for (Value operand : op->getOperands())
      bytes += std::min<int64_t>(elementCount(operand.getType()), made) * elementBytes(elementOf(operand));
    return bytes;
  });
}

static LogicalResult verifyArguments(Operation *op, Block &program, TypeRange types) {
  if (TypeRange(program.getArgumentTypes()) != types)
    return op->emitOpError("has a program whose argument types differ from the types of the passed operands");
  return success();
}

/// Members of a program are views, constants, or operators that have a kernel.
static LogicalResult verifyMembers(Operation *op, Block &program) {
  if (!isa<YieldOp>(program.getTerminator()))
    return op->emitOpError("has a program that does not end with dataflow.yield");
  for (Operation &member : program.without_terminator()) {
    if (isa<ReshapeOp, ConstantOp, CostOpInterface>(member) && !isa<CollectiveOpInterface>(member))
      continue;
    return op->emitOpError("member '") << member.getName() << "' cannot run within a kernel";
  }
  return verifyFinders(op, program);
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

LogicalResult IfOp::verify() {
  for (Region &region : (*this)->getRegions())
    if (failed(verifyArguments(*this, region.front(), getCaptured().getTypes())))
      return failure();
  return success();
}

LogicalResult IfOp::verifyRegions() {
  for (Region &region : (*this)->getRegions()) {
    if (failed(verifyMembers(*this, region.front())))
      return failure();
    if (region.front().getTerminator()->getOperandTypes() != getResultTypes())
      return emitOpError("has a program whose yielded types differ from the result types");
  }
  return verifyProgramOffsets(*this);
}

bool IfOp::allowsEpilogue() { return false; }

/// What only the first program reads.
Value IfOp::getGuard(unsigned operand) {
  return operand > 0 && getOtherwise().getArgument(operand - 1).use_empty() ? getCondition() : Value();
}

int64_t IfOp::getFlops() { return std::max(flopsOf(getThen().front()), flopsOf(getOtherwise().front())); }
int64_t IfOp::getBytesMoved() { return std::max(::bytesOf(getThen().front()), ::bytesOf(getOtherwise().front())); }
int64_t IfOp::getWorkspaceBytes() { return programBytes(*this); }

//===----------------------------------------------------------------------===//
// loop
//===----------------------------------------------------------------------===//

LogicalResult LoopOp::verify() {
  auto carried = getCarried().getTypes();
  SmallVector<Type> arguments{RankedTensorType::get({}, IntegerType::get(getContext(), 64))};
  llvm::append_range(arguments, carried);
  llvm::append_range(arguments, getCaptured().getTypes());
  if (failed(verifyArguments(*this, getBody().front(), arguments)))
    return failure();
  if (getNumResults() < carried.size() + 1 || TypeRange(getResultTypes()).take_front(carried.size()) != carried ||
      getResults().back().getType() != getTrips().getType())
    return emitOpError("must return the carried tensors, the stacked tensors and one i64");
  return success();
}

LogicalResult LoopOp::verifyRegions() {
  Block &program = getBody().front();
  if (failed(verifyMembers(*this, program)))
    return failure();
  const size_t carried = getCarried().size(), stacked = getNumStacked();
  auto yielded = program.getTerminator()->getOperandTypes();
  if (yielded.size() != 1 + carried + stacked || typeOf(program.getTerminator()->getOperand(0)).getRank() != 0 ||
      !typeOf(program.getTerminator()->getOperand(0)).getElementType().isInteger(1) ||
      TypeRange(yielded).slice(1, carried) != TypeRange(getCarried().getTypes()))
    return emitOpError("must yield one i1, the carried tensors and the stacked tensors");
  for (size_t i = 0; i < stacked; ++i) {
    auto whole = typeOf(getResult(carried + i));
    auto slab = cast<RankedTensorType>(yielded[1 + carried + i]);
    if (whole.getRank() != slab.getRank() + 1 || whole.getElementType() != slab.getElementType() ||
        whole.getShape().drop_front() != slab.getShape() || whole.getShape().front() != static_cast<int64_t>(getMost()))
      return emitOpError("stacks tensors of ")
             << slab << ", at most " << getMost()
             << " of them, so its result must have this number as its first extent, got " << whole;
  }
  return verifyProgramOffsets(*this);
}

bool LoopOp::allowsEpilogue() { return false; }

/// Argument 1 + i is carried tensor i, whose place is result i.
SmallVector<int64_t> LoopOp::getYieldPlaces(Block &) {
  SmallVector<int64_t> places{ProgramsOpInterface::kNoMemory};
  for (int64_t i = 0; i < static_cast<int64_t>(getCarried().size()); ++i)
    places.push_back(1 + i);
  places.append(getNumStacked(), ProgramsOpInterface::kFreshMemory);
  return places;
}

/// The loop keeps the iteration's number.
int64_t LoopOp::getOwnBytes(Block &) { return sizeof(int64_t); }

int64_t LoopOp::estimateTrips() {
  constexpr int64_t kGuess = 16;
  const auto most = static_cast<int64_t>(getMost());
  std::optional<SmallVector<int64_t>> trips = getIntegers(getTrips());
  const int64_t known = trips ? std::clamp<int64_t>(trips->front(), 0, most) : most;
  // A loop that ends by its condition rarely runs as often as it may.
  return getNumStacked() > 0 || getConstant(getTrips()) ? known : std::min(known, kGuess);
}

int64_t LoopOp::getFlops() { return flopsOf(getBody().front()) * estimateTrips(); }
int64_t LoopOp::getBytesMoved() { return ::bytesOf(getBody().front()) * estimateTrips(); }
int64_t LoopOp::getWorkspaceBytes() { return programBytes(*this); }

//===----------------------------------------------------------------------===//
// concurrent
//===----------------------------------------------------------------------===//

LogicalResult ConcurrentOp::verify() { return verifyArguments(*this, getBody().front(), getCaptured().getTypes()); }

LogicalResult ConcurrentOp::verifyRegions() {
  Block &program = getBody().front();
  if (failed(verifyMembers(*this, program)))
    return failure();
  SmallVector<Value> made;
  for (Operation &member : program.without_terminator()) {
    if (isa<ReshapeOp>(member))
      continue;
    if (llvm::any_of(member.getOperands(), [](Value operand) {
          Operation *producer = viewedValue(operand).getDefiningOp();
          return producer && !isa<ConstantOp>(producer);
        }))
      return emitOpError("member '") << member.getName() << "' uses a result of another member";
    if (!isa<ConstantOp>(member))
      llvm::append_range(made, member.getResults());
  }
  if (!llvm::equal(program.getTerminator()->getOperands(), made) ||
      program.getTerminator()->getOperandTypes() != getResultTypes())
    return emitOpError("must yield the results of the members, in order");
  return verifyProgramOffsets(*this);
}

bool ConcurrentOp::allowsEpilogue() { return false; }
bool ConcurrentOp::areConcurrent() { return true; }

int64_t ConcurrentOp::getFlops() { return flopsOf(getBody().front()); }
int64_t ConcurrentOp::getBytesMoved() { return ::bytesOf(getBody().front()); }
int64_t ConcurrentOp::getWorkspaceBytes() { return programBytes(*this); }
