//===- ControlOps.td - Operators with programs of their own -*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_CONTROLOPS
#define SLUICE_DATAFLOW_CONTROLOPS

class Dataflow_ControlOp<string mnemonic, list<string> programs, list<Trait> traits = []> : Dataflow_Op<mnemonic, !listconcat([
    IsolatedFromAbove, DeclareOpInterfaceMethods<ProgramsOpInterface, programs>, Kernel<["allowsEpilogue"]>,
    CostOf<["getFlops", "getBytesMoved", "getWorkspaceBytes"]>], traits)> {
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def IfOp : Dataflow_ControlOp<"if", ["getGuard"], [SingleBlock]> {
  let summary = "The results of one of two programs";
  let description = [{
    The operator runs `then` if the condition is true, and `otherwise` if not. The arguments
    of both programs are `captured`. Both yield the results.

    Example:

    ```mlir
    %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %r = dataflow.unary relu %a : tensor<4xf32>
      dataflow.yield %r : tensor<4xf32>
    } else {
    ^bb0(%a: tensor<4xf32>):
      dataflow.yield %a : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins 0DTensorOf<[I1]>:$condition, Variadic<Dataflow_AnyTensor>:$captured,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets);
  let results = (outs Variadic<Dataflow_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = [{
    $condition `captured` `(` $captured `)` attr-dict `:` functional-type(operands, results) $then `else` $otherwise
  }];
}

def LoopOp : Dataflow_ControlOp<"loop", ["getOwnBytes", "getYieldPlaces"], [SingleBlock, AttrSizedOperandSegments]> {
  let summary = "A program that runs repeatedly, on its own results";
  let description = [{
    The arguments of the body are the number of the iteration (from 0), the carried tensors,
    and the captured tensors. The body yields the condition of the next iteration, the next
    carried tensors, and the tensors to stack. An iteration runs if its number is less than
    `trips` and its condition is true. The condition of the first iteration is an operand.
    The condition of any other iteration is the value that the previous iteration yielded.

    The results are the last carried tensors, one stack for each tensor to stack, and the
    number of iterations that ran. The first dimension of a stack has the extent `most`. A
    stack is zero behind the iterations that ran. The step fails if more than `most`
    iterations would run. If the first extent of the stacks depends on symbols, `most` is
    this extent at the upper bounds of the symbols. The step then fails if more iterations
    would run than the extent's value in this step.

    Example:

    ```mlir
    %last, %all, %count = dataflow.loop %trips, %c carried(%s) captured(%w) {most = 8 : i64}
        : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>)
        -> (tensor<2xf32>, tensor<8x2xf32>, tensor<i64>) {
    ^bb0(%i: tensor<i64>, %before: tensor<2xf32>, %weight: tensor<2xf32>):
      %after = dataflow.binary mul %before, %weight : tensor<2xf32>, tensor<2xf32>
      %sum = dataflow.reduce sum %after axes [0] : tensor<2xf32> -> tensor<f32>
      %one = dataflow.constant dense<1.0> : tensor<f32>
      %on = dataflow.compare gt %sum, %one : tensor<f32>, tensor<f32>
      dataflow.yield %on, %after, %before : tensor<i1>, tensor<2xf32>, tensor<2xf32>
    }
    ```
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$trips, 0DTensorOf<[I1]>:$condition,
                       Variadic<Dataflow_AnyTensor>:$carried, Variadic<Dataflow_AnyTensor>:$captured,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$most,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets);
  let results = (outs Variadic<Dataflow_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $trips `,` $condition `carried` `(` $carried `)` `captured` `(` $captured `)` attr-dict
    `:` functional-type(operands, results) $body
  }];
  let extraClassDeclaration = [{
    unsigned getNumStacked() { return getNumResults() - getCarried().size() - 1; }
    /// The number of iterations, or a guess if only the data says it.
    int64_t estimateTrips();
  }];
}

def ConcurrentOp : Dataflow_ControlOp<"concurrent", ["areConcurrent"], [SingleBlock]> {
  let summary = "Operators that run at the same time, each on one thread";
  let description = [{
    The members of the program do not use each other's results. The program yields the
    results of all members, in order. Each member runs as one item of a parallel loop, so
    parallel loops within a member run in sequence.

    Example:

    ```mlir
    %r:2 = dataflow.concurrent captured(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>):
      %p = dataflow.unary relu %a : tensor<4xf32>
      %q = dataflow.unary exp %a : tensor<4xf32>
      dataflow.yield %p, %q : tensor<4xf32>, tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Dataflow_AnyTensor>:$captured, OptionalAttr<DenseI64ArrayAttr>:$offsets);
  let results = (outs Variadic<Dataflow_AnyTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `captured` `(` $captured `)` attr-dict `:` functional-type(operands, results) $body
  }];
}

#endif // SLUICE_DATAFLOW_CONTROLOPS
