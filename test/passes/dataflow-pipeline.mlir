// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=0 ranks=2 microbatches=3' | FileCheck %s --check-prefix=FIRST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=1 ranks=2 microbatches=3' | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=0 ranks=2 microbatches=3 schedule=gpipe' | FileCheck %s --check-prefix=ALL

// The first rank runs F0 F1 B0 F2 B1 B2. It sends each activation, receives its gradient, adds up the gradients of its
// weight, and receives the sum of the losses last.
// FIRST-LABEL: func.func @perceptron
// FIRST-SAME: %arg0: tensor<12x4xf32> {dataflow.name = "x"}, %arg1: tensor<12x2xf32> {dataflow.name = "target"}
// FIRST-SAME: (tensor<f32> {dataflow.name = "loss"}, tensor<4x3xf32> {dataflow.updates = "a"})
// FIRST-SAME: dataflow.rank = 0 : i64, dataflow.ranks = 2 : i64
// FIRST-NOT: dataflow.state "b"
// FIRST: %[[A:.*]] = dataflow.state "a"
// FIRST: %[[X0:.*]] = dataflow.slice %arg0 from [0, 0] by [1, 1] {{.*}} -> tensor<4x4xf32>
// FIRST: %[[H0:.*]] = dataflow.matmul %[[X0]], %[[A]]
// FIRST: %[[Y0:.*]] = dataflow.unary relu %[[H0]]
// FIRST: dataflow.send %[[Y0]] to 1
// FIRST: %[[X1:.*]] = dataflow.slice %arg0 from [4, 0]
// FIRST: dataflow.send %{{.*}} to 1
// FIRST: %[[D0:.*]] = dataflow.receive from 1 : tensor<4x3xf32>
// FIRST: %[[R0:.*]] = dataflow.binary mul %[[D0]]
// FIRST: %[[G0:.*]] = dataflow.matmul %[[X0]] transposed, %[[R0]]
// FIRST: dataflow.slice %arg0 from [8, 0]
// FIRST: dataflow.send %{{.*}} to 1
// FIRST: %[[D1:.*]] = dataflow.receive from 1 : tensor<4x3xf32>
// FIRST: %[[R1:.*]] = dataflow.binary mul %[[D1]]
// FIRST: %[[G1:.*]] = dataflow.matmul %[[X1]] transposed, %[[R1]]
// FIRST: %[[S1:.*]] = dataflow.binary add %[[G0]], %[[G1]] {dataflow.materialized}
// FIRST: dataflow.receive from 1 : tensor<4x3xf32>
// FIRST: %[[SUM:.*]] = dataflow.binary add %[[S1]], %{{.*}} {dataflow.materialized}
// FIRST: %[[LOSS:.*]] = dataflow.receive from 1 : tensor<f32>
// FIRST-NOT: optimizer.scale
// FIRST: return

// The last rank runs F0 B0 F1 B1 F2 B2.
// LAST-LABEL: func.func @perceptron
// LAST-SAME: dataflow.updates = "b"
// LAST-NOT: dataflow.state "a"
// LAST: %[[B:.*]] = dataflow.state "b"
// LAST: %[[Y0:.*]] = dataflow.receive from 0 : tensor<4x3xf32>
// LAST: dataflow.slice %arg1 from [0, 0]
// LAST: dataflow.receive from 0 : tensor<4x3xf32>
// LAST: dataflow.send %{{.*}} to 0 : tensor<4x3xf32>
// LAST: dataflow.slice %arg1 from [4, 0]
// LAST: dataflow.receive from 0 : tensor<4x3xf32>
// LAST: dataflow.send %{{.*}} to 0 : tensor<4x3xf32>
// LAST: dataflow.slice %arg1 from [8, 0]
// LAST: dataflow.send %{{.*}} to 0 : tensor<4x3xf32>
// LAST: dataflow.send %{{.*}} to 0 : tensor<f32>
// LAST-NOT: dataflow.receive

// ALL-LABEL: func.func @perceptron
// ALL-COUNT-3: dataflow.send
// ALL-NOT: dataflow.send
// ALL-COUNT-3: dataflow.receive from 1 : tensor<4x3xf32>
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %2 = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  return %2 : tensor<4x2xf32>
}
