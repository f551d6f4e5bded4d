//===- MlOps.td - Operators of trees and votes -------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What models of classical machine learning need beside products, comparisons and
// gathers: decision trees, and probabilities of classes from those of pairs.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_MLOPS
#define SLUICE_DATAFLOW_MLOPS

def TreeEnsembleOp : Dataflow_Op<"tree_ensemble", [Tiling, Kernel<["allowsEpilogue"]>, CostOf<["getFlops"]>]> {
  let summary = "The weights of the leaves that each row reaches in decision trees, joined by target";
  let description = [{
    input [N, F], result [N, T]. nodes [M, 3] hold the feature that a node compares
    with its threshold, and where a row goes on when the test holds and when not: to
    node `i` < M, which comes behind this one, or to leaf `i` - M. roots hold a node or
    leaf, so numbered, of each tree. The entries leaves[k] to leaves[k + 1] of targets
    and weights are those of leaf k. `kind` (sum, min or max) joins what a target of a
    row gets; a target that gets nothing is 0.

    A test is a sum of 1 (equal), 2 (greater), 4 (less) and 8 (NaN), the outcomes of
    comparing the feature with the threshold for which the test holds: 5 is "less or
    equal", 13 that or NaN. All nodes have the attribute's, or each its own of `tests`.

    Numbers out of range are clamped: no read leaves a tensor, and each step along a tree
    goes to a node of greater number, so that all end.

    Example: with 5, threshold 0.5 and the node (0, 1, 2), of one node and two leaves,
    rows whose feature 0 is at most 0.5 reach leaf 0, the others leaf 1.
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
  let summary = "Probabilities of classes, from those of each class against each other";
  let description = [{
    pairs [N, K * (K - 1) / 2] hold the probability of class i where the class is i or j,
    for i < j, by i and then j; result [N, K] sums to 1 in each row. The second method of
    Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by Pairwise
    Coupling" (2004), by the iteration of their algorithm 2 from equal probabilities,
    until no condition is missed by 0.005 / K or more, at most max(100, K) times: so
    libsvm computes them.
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$pairs);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$pairs attr-dict `:` type($pairs) `->` type($result)";
  let hasVerifier = 1;
}

#endif // SLUICE_DATAFLOW_MLOPS
