// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=1 ranks=4 group-ranks=2 microbatches=2' | FileCheck %s --check-prefix=FIRST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=2 ranks=4 group-ranks=2 microbatches=2' | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=1 ranks=2 group-ranks=2 microbatches=2' | FileCheck %s --check-prefix=ONE

// Rank 1 is the second of the first group. It exchanges data with rank 3, the second of the last group.
// FIRST-LABEL: func.func @perceptron
// FIRST-SAME: dataflow.rank = 1 : i64, dataflow.ranks = 4 : i64
// FIRST: dataflow.state "a"
// FIRST-NOT: {{(to|from)}} {{[012] }}
// FIRST: dataflow.send %{{.*}} to 3
// FIRST: dataflow.receive from 3
// FIRST-NOT: {{(to|from)}} {{[012] }}

// LAST-LABEL: func.func @perceptron
// LAST-SAME: dataflow.rank = 2 : i64, dataflow.ranks = 4 : i64
// LAST: dataflow.state "b"
// LAST: dataflow.receive from 0
// LAST: dataflow.send %{{.*}} to 0
// LAST-NOT: {{(to|from)}} {{[123] }}

// A single group has all stages, and exchanges no messages.
// ONE-LABEL: func.func @perceptron
// ONE-SAME: dataflow.rank = 1 : i64, dataflow.ranks = 2 : i64
// ONE-NOT: dataflow.{{send|receive}}
// ONE: return
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %2 = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  return %2 : tensor<4x2xf32>
}
