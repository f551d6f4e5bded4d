//===- Passes.td - Passes over the dataflow dialect --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES
#define SLUICE_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyPass : Pass<"dataflow-simplify", "::mlir::func::FuncOp"> {
  let summary = "Inference-time simplification: batch norms and scales fold into convolutions, identities go";
  let description = [{
    Batch normalisation becomes a multiply and an add per channel; a multiply by
    a constant per channel after a convolution or a matrix product moves into
    its weights. New weights are constant expressions, evaluated when
    parameters are packed. Then canonicalization and common subexpressions.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

def AssignLayoutPass : Pass<"dataflow-assign-layout", "::mlir::func::FuncOp"> {
  let summary = "Channels-last images and packed constant weights, as the CPU kernels want them";
  let description = [{
    Convolutions with constant weights read and write channels-last images; the
    transpositions this needs travel down through operators that commute with
    them (PermutableOpInterface) until they cancel. Constant right-hand sides of
    matrix products are packed in panels. Packing is a constant expression.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">,
  ];
}

def FusePass : Pass<"dataflow-fuse", "::mlir::func::FuncOp"> {
  let summary = "Groups operators that run as one kernel";
  let description = [{
    Element-wise chains become one loop; element-wise consumers of a contraction
    or reduction become its epilogue, element-wise producers of a reduction its
    prologue. A value is fused only where its one consumer is in the group, so
    nothing is computed twice. Results that are inputs, constants or one value
    twice get a copy, so that every output has an operator that writes it.
  }];
  let dependentDialects = ["::sluice::dataflow::DataflowDialect"];
}

#endif // SLUICE_PASSES
