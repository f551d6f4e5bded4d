//===- Gradients.cpp - Reverse-mode differentiation -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Gradients.h"

#include "dialects/Dataflow/IR/Refuse.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {

namespace {

class Reverse {
public:
  Reverse(OpBuilder &builder, ArrayRef<Value> wrt, llvm::function_ref<void(size_t, Value)> done)
      : builder(builder), wrt(wrt), done(done) {}

  LogicalResult run(ArrayRef<Value> roots, ArrayRef<Value> seeds);

private:
  static bool isFloat(Value value) { return isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType()); }
  void findPaths(ArrayRef<Value> roots);
  void accumulate(Value value, Value gradient, Location loc);
  LogicalResult differentiate(Operation *op);
  void markAdded(Operation *op, Operation *last);
  /// One reader less is to come; the last one completes the gradient.
  void release(Value value);

  OpBuilder &builder;
  ArrayRef<Value> wrt;
  llvm::function_ref<void(size_t, Value)> done;
  /// Operators that lie on paths, in order, before any is added.
  SmallVector<Operation *> path;
  /// Values that change with those sought; of floats.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
  /// Per value sought: operators on paths that read it, not differentiated yet.
  llvm::DenseMap<Value, unsigned> readers;
  llvm::DenseMap<Value, size_t> position;
};

void Reverse::findPaths(ArrayRef<Value> roots) {
  active.insert(wrt.begin(), wrt.end());
  for (auto [i, value] : llvm::enumerate(wrt))
    position[value] = i;
  Value first = wrt.front();
  Block *block = first.getParentBlock();
  SmallVector<Operation *> forward;
  for (Operation &op : block->without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    bool passes = false;
    for (Value result : op.getResults())
      if (isFloat(result)) {
        active.insert(result);
        passes = true;
      }
    if (passes)
      forward.push_back(&op);
  }
  llvm::DenseSet<Value> reaching(roots.begin(), roots.end());
  for (Operation *op : llvm::reverse(forward)) {
    if (llvm::none_of(op->getResults(), [&](Value result) { return reaching.contains(result); }))
      continue;
    path.push_back(op);
    for (Value operand : op->getOperands())
      if (active.contains(operand))
        reaching.insert(operand);
    llvm::SmallDenseSet<Value> distinct;
    distinct.insert(op->operand_begin(), op->operand_end());
    for (Value operand : distinct)
      if (position.contains(operand))
        ++readers[operand];
  }
}

/// The name of what is added for a node.
static Location gradientLocation(Location loc) {
  std::string name = nodeName(loc);
  if (name.empty())
    return loc;
  return NameLoc::get(StringAttr::get(loc.getContext(), name + ".gradient"));
}

void Reverse::accumulate(Value value, Value gradient, Location loc) {
  Value &sum = gradients[value];
  sum = sum ? TensorBuilder(builder, loc).add(sum, gradient) : gradient;
}

LogicalResult Reverse::differentiate(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients.lookup(result));
  if (llvm::none_of(results, [](Value gradient) { return gradient != nullptr; }))
    return success();
  auto gradient = modelOf<GradientOpInterface>(op);
  if (!gradient)
    return refuseUnsupported(op) << "has no gradient, and lies between the loss and a tensor whose gradient is needed, "
                                    "leave this operator out of the model, or train only parameters between this "
                                    "operator and the loss by --trainable";
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(active.contains(operand));
  SmallVector<Value> operands(op->getNumOperands());
  TensorBuilder build(builder, gradientLocation(op->getLoc()));
  if (failed(gradient.buildGradient(build, results, wanted, operands)) || !build.message().empty())
    return build.message().empty() ? failure() : op->emitOpError("has no gradient: ") << build.message();
  for (auto [operand, value, isWanted] : llvm::zip(op->getOperands(), operands, wanted)) {
    if (!isWanted || !value)
      continue;
    if (value.getType() != operand.getType())
      return op->emitOpError("has a gradient of type ")
             << value.getType() << " for an operand of type " << operand.getType();
    accumulate(operand, value, build.loc());
  }
  // A result's gradient is complete, and not needed again.
  for (Value result : op->getResults())
    if (!position.contains(result))
      gradients.erase(result);
  return success();
}

/// Operators behind `last` have the position of the operator whose gradient they compute.
void Reverse::markAdded(Operation *op, Operation *last) {
  DataflowDialect::PositionAttrHelper position(builder.getContext());
  const IntegerAttr own = position.getAttr(op);
  if (!own)
    return;
  Block *block = builder.getInsertionBlock();
  for (auto it = last ? std::next(last->getIterator()) : block->begin(); it != builder.getInsertionPoint(); ++it)
    position.setAttr(&*it, own);
}

void Reverse::release(Value value) {
  auto left = readers.find(value);
  if (left == readers.end() || --left->second > 0)
    return;
  if (Value gradient = gradients.lookup(value))
    done(position[value], gradient);
}

LogicalResult Reverse::run(ArrayRef<Value> roots, ArrayRef<Value> seeds) {
  if (wrt.empty())
    return success();
  findPaths(roots);
  for (auto [root, seed] : llvm::zip(roots, seeds))
    if (active.contains(root))
      accumulate(root, seed, gradientLocation(root.getLoc()));
  // Roots that are sought themselves, and that nothing else reads.
  for (auto [i, value] : llvm::enumerate(wrt))
    if (!readers.contains(value))
      if (Value gradient = gradients.lookup(value))
        done(i, gradient);
  for (Operation *op : path) {
    Operation *last = builder.getInsertionPoint() == builder.getInsertionBlock()->begin()
                          ? nullptr
                          : &*std::prev(builder.getInsertionPoint());
    if (failed(differentiate(op)))
      return failure();
    markAdded(op, last);
    llvm::SmallVector<Value> distinct;
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(distinct, operand))
        distinct.push_back(operand);
    for (Value operand : distinct)
      release(operand);
  }
  return success();
}

} // namespace

LogicalResult buildGradients(OpBuilder &builder, ArrayRef<Value> roots, ArrayRef<Value> seeds, ArrayRef<Value> wrt,
                             llvm::function_ref<void(size_t, Value)> done) {
  return Reverse(builder, wrt, done).run(roots, seeds);
}

} // namespace sluice
