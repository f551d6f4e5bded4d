//===- Ml.cpp - Kernels of tree_ensemble, couple_probabilities ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Coordinates.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// tree_ensemble
//===----------------------------------------------------------------------===//

namespace {

/// The comparison for which a test holds: of its bits 1 is equal, 2 greater, 4 less and 8 NaN.
arith::CmpFPredicate predicateOf(int64_t test) {
  using P = arith::CmpFPredicate;
  constexpr P kPredicates[] = {P::AlwaysFalse, P::OEQ, P::OGT, P::OGE, P::OLT, P::OLE, P::ONE, P::ORD,
                               P::UNO,         P::UEQ, P::UGT, P::UGE, P::ULT, P::ULE, P::UNE, P::AlwaysTrue};
  return kPredicates[test];
}

class TreeWalk {
public:
  TreeWalk(TreeEnsembleOp op, KernelEmitter &kernel)
      : op(op), kernel(kernel), b(kernel.builder()), loc(kernel.loc()), type(op.getType().getElementType()),
        features(shapeOf(op.getInput())[1]), nodes(shapeOf(op.getNodes())[0]), leaves(shapeOf(op.getLeaves())[0] - 1),
        trees(shapeOf(op.getRoots())[0]), targets(op.getType().getDimSize(1)), weights(shapeOf(op.getWeights())[0]) {}

  void emitRow(Value row) {
    Value neutral = op.getKind() == ReduceKind::sum
                        ? kernel.constant(type, 0)
                        : emitExtreme(b, loc, type, /*isUnsigned=*/false, op.getKind() == ReduceKind::max);
    if (targets == 1)
      return store(row, kernel.reduce(kernel.index(0), kernel.index(trees), 1, neutral,
                                      [&](Value tree, ValueRange sum) { return forWeights(row, tree, sum, {}); })[0]);
    Value first = kernel.mul(row, targets);
    auto at = [&](Value target) { return kernel.add(first, target); };
    kernel.loop(0, targets, 1, [&](Value target) { kernel.store(kernel.resultPointer(0), type, at(target), neutral); });
    kernel.loop(0, trees, 1, [&](Value tree) { forWeights(row, tree, {}, at); });
    if (op.getKind() != ReduceKind::sum)
      kernel.loop(0, targets, 1,
                  [&](Value target) { store(at(target), kernel.load(kernel.resultPointer(0), type, at(target))); });
  }

private:
  /// An entry of a list of numbers, of index type: a negative one is greater than all.
  Value entry(Value list, Value position) {
    Value number = kernel.load(kernel.pointer(list), b.getI32Type(), position);
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), number);
  }
  Value atMost(Value number, int64_t greatest) {
    return arith::MinUIOp::create(b, loc, number, kernel.index(greatest));
  }
  Value join(Value sum, Value weight) {
    BinaryKind kind = op.getKind() == ReduceKind::sum   ? BinaryKind::add
                      : op.getKind() == ReduceKind::max ? BinaryKind::max
                                                        : BinaryKind::min;
    return emitBinary(b, loc, kind, sum, weight, /*isUnsigned=*/false);
  }
  /// What no leaf has a weight for is 0.
  void store(Value position, Value sum) {
    if (op.getKind() != ReduceKind::sum) {
      Value neutral = emitExtreme(b, loc, type, /*isUnsigned=*/false, op.getKind() == ReduceKind::max);
      Value isNothing = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, sum, neutral);
      sum = arith::SelectOp::create(b, loc, isNothing, kernel.constant(type, 0), sum);
    }
    kernel.store(kernel.resultPointer(0), type, position, sum);
  }

  /// Joins the weights of the leaf that a row reaches in a tree: to `carried`, or where there are several targets to
  /// those in the result's memory.
  SmallVector<Value> forWeights(Value row, Value tree, ValueRange carried, function_ref<Value(Value)> at) {
    Value leaf = leafOf(row, tree);
    Value begin = atMost(entry(op.getLeaves(), leaf), weights);
    Value end = atMost(entry(op.getLeaves(), kernel.add(leaf, kernel.index(1))), weights);
    auto weightAt = [&](Value i) { return kernel.load(kernel.pointer(op.getWeights()), type, i); };
    if (!at)
      return kernel.reduce(begin, end, 1, carried,
                           [&](Value i, ValueRange sum) { return SmallVector<Value>{join(sum[0], weightAt(i))}; });
    kernel.loop(begin, end, 1, [&](Value i) {
      Value place = at(atMost(entry(op.getTargets(), i), targets - 1));
      Value sum = kernel.load(kernel.resultPointer(0), type, place);
      kernel.store(kernel.resultPointer(0), type, place, join(sum, weightAt(i)));
    });
    return {};
  }

  Value leafOf(Value row, Value tree) {
    Value root = entry(op.getRoots(), tree);
    auto walk = scf::WhileOp::create(b, loc, root.getType(), root, nullptr, nullptr);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(walk.getBeforeBody());
      Value number = walk.getBeforeArguments()[0];
      Value isNode = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, kernel.index(nodes));
      scf::ConditionOp::create(b, loc, isNode, number);
      b.setInsertionPointToStart(walk.getAfterBody());
      scf::YieldOp::create(b, loc, nextOf(row, walk.getAfterArguments()[0]));
    }
    Value leaf = arith::SubIOp::create(b, loc, walk.getResult(0), kernel.index(nodes));
    return atMost(leaf, leaves - 1);
  }

  /// Where a row goes on behind a node.
  Value nextOf(Value row, Value node) {
    Value first = kernel.mul(node, 3);
    Value feature = atMost(entry(op.getNodes(), first), features - 1);
    Value onTrue = entry(op.getNodes(), kernel.add(first, kernel.index(1)));
    Value onFalse = entry(op.getNodes(), kernel.add(first, kernel.index(2)));
    Value threshold = kernel.load(kernel.pointer(op.getThresholds()), type, node);
    Value x = kernel.load(kernel.pointer(op.getInput()), type, kernel.add(kernel.mul(row, features), feature));
    Value next = arith::SelectOp::create(b, loc, holds(node, x, threshold), onTrue, onFalse);
    return arith::MaxUIOp::create(b, loc, next, kernel.add(node, kernel.index(1)));
  }

  Value holds(Value node, Value x, Value threshold) {
    auto compare = [&](int64_t test) -> Value {
      return arith::CmpFOp::create(b, loc, predicateOf(test), x, threshold);
    };
    if (op.getTest())
      return compare(static_cast<int64_t>(*op.getTest()));
    // The bit of what the comparison came to, and whether the node's test has it.
    Type byte = b.getI8Type();
    Value outcome = emitIntConstant(b, loc, byte, 8);
    for (int64_t bit : {1, 2, 4})
      outcome = arith::SelectOp::create(b, loc, compare(bit), emitIntConstant(b, loc, byte, bit), outcome);
    Value both = arith::AndIOp::create(b, loc, kernel.load(kernel.pointer(op.getTests()), byte, node), outcome);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, both, emitIntConstant(b, loc, byte, 0));
  }

  TreeEnsembleOp op;
  KernelEmitter &kernel;
  OpBuilder &b;
  Location loc;
  Type type;
  int64_t features, nodes, leaves, trees, targets, weights;
};

} // namespace

static void emitTreeEnsembleKernel(TreeEnsembleOp op, KernelEmitter &kernel) {
  kernel.parallel(extentsOf(op.getType())[0], kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value row) { TreeWalk(op, kernel).emitRow(row); });
  });
}

//===----------------------------------------------------------------------===//
// couple_probabilities
//===----------------------------------------------------------------------===//

namespace {

/// Minimizes sum over i, j of (r(j, i) * p(i) - r(i, j) * p(j))^2 / 2 = p^T Q p for probabilities p, where Q(i, i) is
/// the sum over j of r(j, i)^2 and Q(i, j) = -r(j, i) * r(i, j).
class Coupling {
public:
  Coupling(CoupleProbabilitiesOp op, KernelEmitter &kernel)
      : op(op), kernel(kernel), f{kernel}, b(kernel.builder()), loc(kernel.loc()), type(b.getF32Type()),
        classes(op.getType().getDimSize(1)) {}

  void emitRow(Value row) {
    this->row = row;
    first = kernel.mul(row, classes);
    forClasses([&](Value i) { store(p(), i, f.c(1.0 / static_cast<double>(classes))); });
    Value active = emitIntConstant(b, loc, b.getI1Type(), 1);
    kernel.reduce(
        kernel.index(0), kernel.index(std::max<int64_t>(100, classes)), 1, active, [&](Value, ValueRange carried) {
          return SmallVector<Value>{kernel.choose(
              carried[0], [&] { return emitStep(); }, [&] { return emitIntConstant(b, loc, b.getI1Type(), 0); })};
        });
  }

private:
  Value p() { return kernel.resultPointer(0); }
  Value qp() { return kernel.workspace(); }
  Value load(Value list, Value i) { return kernel.load(list, type, kernel.add(first, i)); }
  void store(Value list, Value i, Value value) { kernel.store(list, type, kernel.add(first, i), value); }
  void forClasses(function_ref<void(Value)> body) { kernel.loop(0, classes, 1, body); }
  Value sum(function_ref<Value(Value, Value)> next) {
    return kernel.reduce(kernel.index(0), kernel.index(classes), 1, f.c(0),
                         [&](Value i, ValueRange sum) { return SmallVector<Value>{next(i, sum[0])}; })[0];
  }
  Value is(arith::CmpIPredicate predicate, Value i, Value j) { return arith::CmpIOp::create(b, loc, predicate, i, j); }

  /// r(i, j), of different classes.
  Value pair(Value i, Value j) {
    Value low = arith::MinUIOp::create(b, loc, i, j), high = arith::MaxUIOp::create(b, loc, i, j);
    // Rows of classes - 1, classes - 2 ... pairs lie before that of `low`.
    Value rest = arith::SubIOp::create(b, loc, kernel.index(2 * classes - 1), low);
    Value before = arith::DivUIOp::create(b, loc, arith::MulIOp::create(b, loc, low, rest), kernel.index(2));
    Value behind = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, high, low), kernel.index(1));
    Value position = kernel.add(kernel.mul(row, shapeOf(op.getPairs())[1]), kernel.add(before, behind));
    // No class is a pair with itself: the last entry stands for what nobody uses.
    Value last = kernel.index(productOf(extentsOf(op.getPairs())) - 1);
    Value r = kernel.load(kernel.pointer(op.getPairs()), type, arith::MinUIOp::create(b, loc, position, last));
    return f.select(is(arith::CmpIPredicate::ult, i, j), r, f.sub(f.c(1), r));
  }
  Value diagonal(Value i) {
    return sum([&](Value j, Value squares) {
      Value r = pair(j, i);
      return f.select(is(arith::CmpIPredicate::eq, i, j), squares, f.add(squares, f.mul(r, r)));
    });
  }
  Value beside(Value i, Value j) { return f.sub(f.c(0), f.mul(pair(j, i), pair(i, j))); }

  /// One pass over all classes; whether another has to follow.
  Value emitStep() {
    forClasses([&](Value i) {
      Value others = sum([&](Value j, Value all) {
        Value product = f.mul(beside(i, j), load(p(), j));
        return f.select(is(arith::CmpIPredicate::eq, i, j), all, f.add(all, product));
      });
      store(qp(), i, f.add(others, f.mul(diagonal(i), load(p(), i))));
    });
    Value whole = sum([&](Value i, Value all) { return f.add(all, f.mul(load(p(), i), load(qp(), i))); });
    Value worst = sum([&](Value i, Value greatest) {
      Value miss = f.sub(load(qp(), i), whole), opposite = f.sub(f.c(0), miss);
      miss = f.select(f.lt(miss, opposite), opposite, miss);
      return f.select(f.lt(greatest, miss), miss, greatest);
    });
    Value misses = f.lt(worst, f.c(0.005 / static_cast<double>(classes)));
    misses = arith::XOrIOp::create(b, loc, misses, emitIntConstant(b, loc, b.getI1Type(), 1));
    kernel.ifThen(misses, [&] {
      kernel.reduce(kernel.index(0), kernel.index(classes), 1, whole, [&](Value i, ValueRange carried) {
        Value own = diagonal(i), old = load(qp(), i);
        Value change = f.div(f.sub(carried[0], old), own);
        store(p(), i, f.add(load(p(), i), change));
        Value scale = f.add(f.c(1), change);
        Value added = f.mul(change, f.add(f.mul(change, own), f.mul(f.c(2), old)));
        Value next = f.div(f.div(f.add(carried[0], added), scale), scale);
        forClasses([&](Value j) {
          Value q = f.select(is(arith::CmpIPredicate::eq, i, j), own, beside(i, j));
          store(qp(), j, f.div(f.add(load(qp(), j), f.mul(change, q)), scale));
          store(p(), j, f.div(load(p(), j), scale));
        });
        return SmallVector<Value>{next};
      });
    });
    return misses;
  }

  CoupleProbabilitiesOp op;
  KernelEmitter &kernel;
  Coordinates f;
  OpBuilder &b;
  Location loc;
  Type type;
  int64_t classes;
  Value row, first;
};

} // namespace

static void emitCoupleProbabilitiesKernel(CoupleProbabilitiesOp op, KernelEmitter &kernel) {
  kernel.parallel(extentsOf(op.getType())[0], kernel.work(Rate::Scalars), [&](Value begin, Value end) {
    kernel.loop(begin, end, 1, [&](Value row) { Coupling(op, kernel).emitRow(row); });
  });
}

/// The number of rows may be a step's.
template <typename OpTy>
static LogicalResult checkRows(OpTy op, const VectorTarget &, const KernelStyle &) {
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
    for (auto [d, extent] : llvm::enumerate(extentsOf(value)))
      if (!extent.isConstant() && (d > 0 || extentsOf(value).size() < 2))
        return op->emitOpError("has a kernel for which only the number of rows may change between steps, give the "
                               "other dimensions one size");
  return success();
}

void sluice::dataflow::attachMlKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<CheckedKernelModel<emitTreeEnsembleKernel, checkRows<TreeEnsembleOp>, kOfStep>,
         CheckedKernelModel<emitCoupleProbabilitiesKernel, checkRows<CoupleProbabilitiesOp>, kOfStep>>(context);
}
