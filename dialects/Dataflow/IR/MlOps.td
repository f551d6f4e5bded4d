//===- MlOps.td - Operators of trees and votes -------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Models of classical machine learning need two operators in addition to products, comparisons and
// gathers: decision trees, and probabilities of classes from probabilities of pairs of classes.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_MLOPS
#define SLUICE_DATAFLOW_MLOPS

def TreeEnsembleOp : Dataflow_Op<"tree_ensemble", [Tiling, Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "The weights of the leaves that each row reaches in decision trees, combined for each target";
  let description = [{
    The input is [N, F], the result [N, T]. A row of nodes [M, 3] has the feature that the
    node compares with its threshold, and the successors if the test is true and if it is
    false. A successor `i` < M is a node, which has a greater number than its predecessor. A
    successor `i` >= M is the leaf `i` - M. roots has a node or leaf for each tree, numbered
    in the same way. The entries leaves[k] to leaves[k + 1] of targets and weights are those
    of leaf k. `kind` (sum, min or max) combines the weights that a row has for one target.
    A target without any weight is 0.

    A test is a sum of 1 (equal), 2 (greater), 4 (less) and 8 (NaN). It is true for these
    outcomes of the comparison of the feature with the threshold. For example, 5 is "less or
    equal", and 13 is "less, equal or NaN". All nodes have the test of the attribute, or
    each node has its own in `tests`.

    Numbers out of range are clamped, so no read leaves a tensor. Each step along a tree
    goes to a node with a greater number, so every path ends.

    Example: there is one node (0, 1, 2) with the test 5 and the threshold 0.5, and there
    are two leaves. Rows whose feature 0 is at most 0.5 reach leaf 0. The others reach leaf
    1.

    Example:

    ```mlir
    %y = dataflow.tree_ensemble sum %x nodes %nodes, %thresholds roots %roots leaves %leaves, %targets, %weights
        {test = 5 : i64} : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>,
        tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
    ```
  }];
  let arguments = (ins Dataflow_ReduceKindAttr:$kind, RankedTensorOf<[F32, F64]>:$input,
                       RankedTensorOf<[I32]>:$nodes, RankedTensorOf<[F32, F64]>:$thresholds,
                       RankedTensorOf<[I32]>:$roots, RankedTensorOf<[I32]>:$leaves,
                       RankedTensorOf<[I32]>:$targets, RankedTensorOf<[F32, F64]>:$weights,
                       Optional<RankedTensorOf<[UI8]>>:$tests, OptionalAttr<I64Attr>:$test);
  let results = (outs RankedTensorOf<[F32, F64]>:$result);
  let assemblyFormat = [{
    $kind $input `nodes` $nodes `,` $thresholds `roots` $roots `leaves` $leaves `,` $targets `,` $weights
    (`tests` $tests^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def CoupleProbabilitiesOp : Dataflow_Op<"couple_probabilities", [
    Tiling, Kernel<["allowsEpilogue"]>, CostOf<["getFlops", "getWorkspaceBytes"]>]> {
  let summary = "Probabilities of classes, from the probabilities of each class against each other class";
  let description = [{
    pairs [N, K * (K - 1) / 2] has the probability of class i on the condition that the
    class is i or j, for i < j, ordered by i and then by j. Each row of the result [N, K]
    has the sum 1. The method is the second one of Wu, Lin and Weng, "Probability Estimates
    for Multi-class Classification by Pairwise Coupling" (2004). It iterates their algorithm
    2 from equal probabilities, at most max(100, K) times, until the error of every
    condition is less than 0.005 / K. libsvm computes the probabilities in the same way.

    Example:

    ```mlir
    %p = dataflow.couple_probabilities %pairs : tensor<5x6xf32> -> tensor<5x4xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$pairs);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$pairs attr-dict `:` type($pairs) `->` type($result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_MLOPS
