// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=0 ranks=2 microbatches=1' | FileCheck %s --check-prefix=FIRST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=0 ranks=2 microbatches=2' | FileCheck %s --check-prefix=FIRST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=1 ranks=2 microbatches=1' | FileCheck %s --check-prefix=LAST
// RUN: sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0 lr=0.5' --dataflow-pipeline='rank=1 ranks=2 microbatches=2' | FileCheck %s --check-prefix=LAST

// States that count microbatches. The last rank reads "a", and needs "b" to count it. No operator reads "c", which the
// first rank counts with the others.
// FIRST: func.func @counters
// FIRST-SAME: {dataflow.updates = "v"}, tensor<f32> {dataflow.updates = "b"}, tensor<f32> {dataflow.updates = "a"}, tensor<f32> {dataflow.updates = "c"})
// LAST: func.func @counters
// LAST-SAME: {dataflow.updates = "w"}, tensor<f32> {dataflow.updates = "b"}, tensor<f32> {dataflow.updates = "a"})
// LAST-NOT: dataflow.state "c"
func.func @counters(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}, tensor<f32> {dataflow.updates = "b"}, tensor<f32> {dataflow.updates = "a"}, tensor<f32> {dataflow.updates = "c"}) {
  %one = dataflow.constant dense<1.0> : tensor<f32>
  %a = dataflow.state "a" dense<1.0> : tensor<f32>
  %b = dataflow.state "b" dense<1.0> : tensor<f32>
  %c = dataflow.state "c" dense<1.0> : tensor<f32>
  %an = dataflow.binary add %a, %b : tensor<f32>, tensor<f32>
  %bn = dataflow.binary add %b, %one : tensor<f32>, tensor<f32>
  %cn = dataflow.binary add %c, %one : tensor<f32>, tensor<f32>
  %v = dataflow.state "v" trainable dense<0.5> : tensor<4x3xf32>
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x2xf32>
  %h = dataflow.matmul %x, %v : tensor<4x4xf32>, tensor<4x3xf32>
  %r = dataflow.unary relu %h : tensor<4x3xf32>
  %m = dataflow.matmul %r, %w : tensor<4x3xf32>, tensor<3x2xf32>
  %y = dataflow.binary mul %m, %a : tensor<4x2xf32>, tensor<f32>
  return %y, %bn, %an, %cn : tensor<4x2xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
