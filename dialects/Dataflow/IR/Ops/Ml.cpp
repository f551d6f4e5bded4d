//===- Ml.cpp - tree_ensemble, couple_probabilities -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// tree_ensemble
//===----------------------------------------------------------------------===//

LogicalResult TreeEnsembleOp::verify() {
  constexpr int64_t kTests = 16;
  if (getKind() != ReduceKind::sum && getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError("must combine by sum, max or min");
  auto input = typeOf(getInput()), result = typeOf(getResult());
  Type element = input.getElementType();
  if (input.getRank() != 2 || result.getRank() != 2 || result.getDimSize(0) != input.getDimSize(0) ||
      input.getDimSize(1) < 1 || result.getDimSize(1) < 1)
    return emitOpError("must return a row of targets for each row of features, got ") << input << " and " << result;
  if (element != elementOf(getThresholds()) || element != elementOf(getWeights()) || element != result.getElementType())
    return emitOpError("must have features, thresholds, weights and results of one element type, got ")
           << input << ", " << getThresholds().getType() << ", " << getWeights().getType() << " and " << result;
  ArrayRef<int64_t> nodes = shapeOf(getNodes());
  if (nodes.size() != 2 || nodes[0] < 1 || nodes[1] != 3 || shapeOf(getThresholds()) != nodes.take_front(1))
    return emitOpError("must have a feature, two branches and a threshold for each node, got ")
           << getNodes().getType() << " and " << getThresholds().getType();
  if (typeOf(getRoots()).getRank() != 1 || typeOf(getLeaves()).getRank() != 1 || shapeOf(getLeaves())[0] < 2 ||
      typeOf(getTargets()).getRank() != 1 || shapeOf(getTargets())[0] < 1 ||
      shapeOf(getTargets()) != shapeOf(getWeights()))
    return emitOpError("must have a list of roots, a list of the starts of leaves, and a target for each weight, got ")
           << getRoots().getType() << ", " << getLeaves().getType() << ", " << getTargets().getType() << " and "
           << getWeights().getType();
  if (getTest().has_value() == static_cast<bool>(getTests()))
    return emitOpError("must have either one test for all nodes or a list of tests");
  if (getTest() && *getTest() >= kTests)
    return emitOpError("has test ") << *getTest() << ", which is not a sum of 1, 2, 4 and 8";
  if (getTests() && shapeOf(getTests()) != nodes.take_front(1))
    return emitOpError("has ") << getTests().getType() << " in 'tests' for " << nodes[0]
                               << " nodes, and must have one test for each node";
  return success();
}

bool TreeEnsembleOp::allowsEpilogue() { return false; }

/// A path has about log2 of a tree's nodes, and a step about four operations.
int64_t TreeEnsembleOp::getFlops() {
  int64_t trees = std::max<int64_t>(1, shapeOf(getRoots())[0]);
  int64_t depth = llvm::Log2_64_Ceil(static_cast<uint64_t>(shapeOf(getNodes())[0] / trees + 1)) + 1;
  return Count(4) * shapeOf(getInput())[0] * trees * depth;
}

//===----------------------------------------------------------------------===//
// couple_probabilities
//===----------------------------------------------------------------------===//

LogicalResult CoupleProbabilitiesOp::verify() {
  ArrayRef<int64_t> pairs = shapeOf(getPairs()), result = getType().getShape();
  if (pairs.size() != 2 || result.size() != 2 || pairs[0] != result[0] || result[1] < 2 ||
      Count(result[1]) * (result[1] - 1) != Count(pairs[1]) * 2)
    return emitOpError("must make K probabilities of K * (K - 1) / 2 pairs, got ")
           << getPairs().getType() << " and " << getType();
  return success();
}

bool CoupleProbabilitiesOp::allowsEpilogue() { return false; }

int64_t CoupleProbabilitiesOp::getFlops() {
  constexpr int64_t kIterations = 10;
  return Count(kIterations) * elementCount(getPairs().getType()) * 16;
}

/// Q * p, a float for each probability.
int64_t CoupleProbabilitiesOp::getWorkspaceBytes() { return tensorBytes(getType()); }
