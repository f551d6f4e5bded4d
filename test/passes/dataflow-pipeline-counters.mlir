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

// A counted state that follows from a weight of another rank: the weight is received before the step.
// FIRST: func.func @average
// FIRST-SAME: {dataflow.updates = "a"}, tensor<3x2xf32> {dataflow.updates = "average"})
// FIRST-NOT: dataflow.state "b"
// FIRST: dataflow.state "average"
// FIRST: dataflow.receive from 1 : tensor<3x2xf32>
// LAST: func.func @average
// LAST-NOT: dataflow.state "average"
// LAST: dataflow.send %{{.*}} to 0 : tensor<3x2xf32>
func.func @average(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}, tensor<3x2xf32> {dataflow.updates = "average"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %e = dataflow.state "average" dense<0.0> : tensor<3x2xf32>
  %half = dataflow.constant dense<0.5> : tensor<f32>
  %n0 = dataflow.binary mul %e, %half : tensor<3x2xf32>, tensor<f32>
  %n1 = dataflow.binary add %n0, %b : tensor<3x2xf32>, tensor<3x2xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %2 = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  return %2, %n1 : tensor<4x2xf32>, tensor<3x2xf32>
}

// The last rank reads a state that follows from a weight of the first.
// LAST: func.func @norm
// LAST-NOT: dataflow.state "a"
// LAST: dataflow.receive from 0 : tensor<4x3xf32>
// LAST: dataflow.reduce mean
func.func @norm(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}, tensor<f32> {dataflow.updates = "norm"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %e = dataflow.state "norm" dense<1.0> : tensor<f32>
  %n1 = dataflow.reduce mean %a axes [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n2 = dataflow.binary add %e, %n1 : tensor<f32>, tensor<f32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %q = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  %2 = dataflow.binary mul %q, %e : tensor<4x2xf32>, tensor<f32>
  return %2, %n2 : tensor<4x2xf32>, tensor<f32>
}
