//===- GroupLoops.cpp - Loops that run at the same time -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Emit/Work.h"
#include "passes/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_GROUPLOOPSPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

Count nsOf(CostOpInterface op) { return Work{Rate::Products, op.getFlops(), op.getBytesMoved()}.ns(); }

/// Whether a loop is long, and each kernel of its body is too short to be cut, so that other threads do not help it.
bool runsOnOneThread(LoopOp loop) {
  constexpr int64_t kLeastNs = 20'000;
  return nsOf(cast<CostOpInterface>(loop.getOperation())) >= kLeastNs &&
         llvm::all_of(loop.getBody().front().without_terminator(), [](Operation &member) {
           auto cost = dyn_cast<CostOpInterface>(member);
           return !cost || nsOf(cost) < 2 * ChunkTimes::kDefaultNs;
         });
}

/// Whether two loops take about the same time: the thread of a much shorter one would mostly wait.
bool areAlike(LoopOp a, LoopOp c) {
  constexpr int64_t kMostRatio = 4;
  const Count first = nsOf(cast<CostOpInterface>(a.getOperation())),
              second = nsOf(cast<CostOpInterface>(c.getOperation()));
  return first <= second * kMostRatio && second <= first * kMostRatio;
}

/// Makes one operator of loops of a block, where the last one is.
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
      SmallVector<LoopOp> group = findGroup(first, taken);
      if (group.size() < 2)
        continue;
      for (LoopOp loop : group)
        taken.insert(loop);
      join(group);
    }
  }

private:
  /// Loops after `first` of which none follows from another, and none from `first`. What follows from them moves behind
  /// the last one.
  static SmallVector<LoopOp> findGroup(LoopOp first, const llvm::SmallPtrSetImpl<Operation *> &taken) {
    constexpr size_t kMost = 8;
    SmallVector<LoopOp> group{first};
    llvm::SmallPtrSet<Operation *, 16> following{first};
    SmallVector<Operation *> delayed, delayedSince;
    for (Operation *op = first->getNextNode(); op && group.size() < kMost; op = op->getNextNode()) {
      if (llvm::any_of(op->getOperands(), [&](Value operand) { return following.contains(operand.getDefiningOp()); })) {
        following.insert(op);
        delayedSince.push_back(op);
        continue;
      }
      auto next = dyn_cast<LoopOp>(op);
      if (!next || taken.contains(next) || !runsOnOneThread(next) || !areAlike(first, next))
        continue;
      group.push_back(next);
      following.insert(next);
      llvm::append_range(delayed, delayedSince);
      delayedSince.clear();
    }
    Operation *last = group.back();
    for (Operation *op : delayed) {
      op->moveAfter(last);
      last = op;
    }
    return group;
  }
};
} // namespace
