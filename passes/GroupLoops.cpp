//===- GroupLoops.cpp - Loops that run at the same time -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Work.h"
#include "passes/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_GROUPLOOPSPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

Count nsOf(CostOpInterface op) { return Work{Rate::Products, op.getFlops(), op.getBytesMoved()}.ns(); }

/// Whether other threads cannot help a loop: each kernel of its body is too short to be cut, and it is long itself.
bool runsOnOneThread(LoopOp loop) {
  constexpr int64_t kLeastNs = 20'000;
  return nsOf(cast<CostOpInterface>(loop.getOperation())) >= kLeastNs &&
         llvm::all_of(loop.getBody().front().without_terminator(), [](Operation &member) {
           auto cost = dyn_cast<CostOpInterface>(member);
           return !cost || nsOf(cost) < 2 * ChunkTimes::kDefaultNs;
         });
}

/// Within a factor of 4, so that the shorter one does not wait for most of the time.
bool areAlike(LoopOp a, LoopOp c) {
  constexpr int64_t kMostRatio = 4;
  const Count first = nsOf(cast<CostOpInterface>(a.getOperation())),
              second = nsOf(cast<CostOpInterface>(c.getOperation()));
  return first <= second * kMostRatio && second <= first * kMostRatio;
}

/// The operators between `first` and `last` in a block that follow from `first`; null where `last` does.
std::optional<SmallVector<Operation *>> dependentsBefore(Operation *first, Operation *last) {
  llvm::SetVector<Operation *> found;
  found.insert(first);
  for (Operation *op = first->getNextNode();; op = op->getNextNode()) {
    const bool depends = llvm::any_of(op->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() && found.contains(operand.getDefiningOp());
    });
    if (op == last)
      return depends ? std::nullopt : std::optional(SmallVector<Operation *>(found.begin() + 1, found.end()));
    if (depends)
      found.insert(op);
  }
}

/// Makes one operator of loops of a block, at the last one's place.
void join(ArrayRef<LoopOp> loops) {
  OpBuilder b(loops.back());
  SmallVector<Value> captured;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  for (LoopOp loop : loops) {
    llvm::append_range(captured, loop->getOperands());
    llvm::append_range(types, loop->getResultTypes());
    locations.push_back(loop.getLoc());
  }
  auto group = ConcurrentOp::create(b, FusedLoc::get(b.getContext(), locations), types, captured, DenseI64ArrayAttr());
  Block *body = b.createBlock(&group.getBody());
  SmallVector<Value> made;
  unsigned nextResult = 0;
  for (LoopOp loop : loops) {
    for (OpOperand &operand : loop->getOpOperands())
      operand.set(body->addArgument(operand.get().getType(), loop.getLoc()));
    for (Value result : loop->getResults())
      result.replaceAllUsesWith(group.getResult(nextResult++));
    loop->moveBefore(body, body->end());
    llvm::append_range(made, loop->getResults());
  }
  b.setInsertionPointToEnd(body);
  YieldOp::create(b, group.getLoc(), made);
}

struct GroupLoops : sluice::impl::GroupLoopsPassBase<GroupLoops> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().getBody().front();
    llvm::SmallPtrSet<Operation *, 8> taken;
    for (auto first : llvm::to_vector(block.getOps<LoopOp>())) {
      if (taken.contains(first) || !runsOnOneThread(first))
        continue;
      SmallVector<LoopOp> group{first};
      for (Operation *op = first->getNextNode(); op && group.size() < kMost; op = op->getNextNode()) {
        auto next = dyn_cast<LoopOp>(op);
        if (!next || taken.contains(next) || !runsOnOneThread(next) || !areAlike(first, next) || !delay(group, next))
          continue;
        group.push_back(next);
      }
      if (group.size() < 2)
        continue;
      for (LoopOp loop : group)
        taken.insert(loop);
      join(group);
    }
  }

private:
  static constexpr size_t kMost = 8;

  /// Moves what follows from a group behind `next`, unless that follows from it too.
  static bool delay(ArrayRef<LoopOp> group, LoopOp next) {
    SmallVector<Operation *> moved;
    for (LoopOp loop : group) {
      std::optional<SmallVector<Operation *>> dependents = dependentsBefore(loop, next);
      if (!dependents)
        return false;
      llvm::append_range(moved, *dependents);
    }
    llvm::sort(moved, [](Operation *a, Operation *c) { return a->isBeforeInBlock(c); });
    moved.erase(llvm::unique(moved), moved.end());
    Operation *last = next;
    for (Operation *op : moved) {
      op->moveAfter(last);
      last = op;
    }
    return true;
  }
};
} // namespace
