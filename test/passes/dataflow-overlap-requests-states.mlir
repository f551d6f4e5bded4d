// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(dataflow-overlap-requests{requests=2}))' | FileCheck %s

// The value of a state that becomes another state: both are in the stage of their first reader.
// CHECK-LABEL: func.func @chain_of_states
// CHECK-DAG: %[[STEP:.*]] = dataflow.state "pipeline.{{.}}" dense<0> : tensor<i64>
// CHECK-DAG: %[[FIRST:.*]] = dataflow.state "first"
// CHECK-DAG: %[[SECOND:.*]] = dataflow.state "second"
// CHECK: return
func.func @chain_of_states(%x: tensor<64xf32> {dataflow.name = "x"}) -> (tensor<64xf32> {dataflow.name = "y"}, tensor<64xf32> {dataflow.updates = "first"}, tensor<64xf32> {dataflow.updates = "second"}) {
  %first = dataflow.state "first" dense<0.000000e+00> : tensor<64xf32>
  %second = dataflow.state "second" dense<0.000000e+00> : tensor<64xf32>
  %0 = dataflow.unary exp %x : tensor<64xf32>
  %1 = dataflow.unary log %0 : tensor<64xf32>
  %2 = dataflow.binary add %1, %first : tensor<64xf32>, tensor<64xf32>
  return %2, %second, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// States that no operator reads, in either order, and a copy at the end.
// CHECK-LABEL: func.func @unread
// CHECK-NOT: dataflow.copy
// CHECK: return
func.func @unread(%x: tensor<64xf32> {dataflow.name = "x"}) -> (tensor<64xf32> {dataflow.name = "y"}, tensor<64xf32> {dataflow.updates = "a"}, tensor<64xf32> {dataflow.updates = "b"}, tensor<64xf32> {dataflow.updates = "c"}) {
  %a = dataflow.state "a" dense<0.000000e+00> : tensor<64xf32>
  %b = dataflow.state "b" dense<0.000000e+00> : tensor<64xf32>
  %c = dataflow.state "c" dense<0.000000e+00> : tensor<64xf32>
  %0 = dataflow.unary exp %x : tensor<64xf32>
  %1 = dataflow.unary log %0 : tensor<64xf32>
  %2 = dataflow.copy %b : tensor<64xf32>
  return %1, %2, %c, %1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
