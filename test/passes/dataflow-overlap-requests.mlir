// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(dataflow-overlap-requests{requests=2}))' | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(dataflow-overlap-requests))' | FileCheck %s --check-prefix=ONE --implicit-check-not=pipeline

// ONE-LABEL: func.func @chain

// The second stage reads what the first one computed a step before, and the input of then.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:.*]]: tensor<64xf32> {dataflow.name = "x"}
// CHECK-SAME: (tensor<64xf32> {dataflow.name = "y"}, tensor<64xf32> {dataflow.updates = "pipeline.[[FIRST:[01]]]"}, tensor<64xf32> {dataflow.updates = "pipeline.[[SECOND:[01]]]"})
// CHECK-DAG: %[[A:.*]] = dataflow.state "pipeline.0" dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[B:.*]] = dataflow.state "pipeline.1" dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[U:.*]] = dataflow.unary{{ +}}exp %[[X]]
// CHECK: %[[V:.*]] = dataflow.unary{{ +}}log %[[U]]
// CHECK: %[[W:.*]] = dataflow.binary{{ +}}add %[[A]], %[[B]]
// CHECK: return %[[W]], %[[V]], %[[X]]
func.func @chain(%x: tensor<64xf32> {dataflow.name = "x"}) -> (tensor<64xf32> {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : tensor<64xf32>
  %1 = dataflow.unary log %0 : tensor<64xf32>
  %2 = dataflow.binary add %1, %x : tensor<64xf32>, tensor<64xf32>
  return %2 : tensor<64xf32>
}

// An output of the first stage waits for the others. What is constant does not.
// CHECK-LABEL: func.func @outputs
// CHECK: %[[OLD:.*]] = dataflow.state "pipeline.0"
// CHECK: %[[NEW:.*]] = dataflow.unary{{ +}}exp
// CHECK: %[[Y:.*]] = dataflow.unary{{ +}}log %[[OLD]]
// CHECK: return %[[OLD]], %[[Y]], %[[NEW]]
func.func @outputs(%x: tensor<64xf32> {dataflow.name = "x"}) -> (tensor<64xf32> {dataflow.name = "early"}, tensor<64xf32> {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : tensor<64xf32>
  %1 = dataflow.unary log %0 : tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// A state of the second stage keeps its value until the first request arrives.
// CHECK-LABEL: func.func @states
// CHECK: %[[STEP:.*]] = dataflow.state "pipeline.1" dense<0> : tensor<i64>
// CHECK: %[[OLD:.*]] = dataflow.state "sum"
// CHECK: %[[NEW:.*]] = dataflow.binary{{ +}}add
// CHECK: %[[REACHED:.*]] = dataflow.compare{{ +}}ge %[[STEP]]
// CHECK: %[[NEXT:.*]] = dataflow.select %[[REACHED]], %[[NEW]], %[[OLD]]
// CHECK: return %{{.*}}, %[[NEXT]]
func.func @states(%x: tensor<64xf32> {dataflow.name = "x"}) -> (tensor<64xf32> {dataflow.name = "y"}, tensor<64xf32> {dataflow.updates = "sum"}) {
  %s = dataflow.state "sum" dense<0.000000e+00> : tensor<64xf32>
  %0 = dataflow.unary exp %x : tensor<64xf32>
  %1 = dataflow.unary log %0 : tensor<64xf32>
  %2 = dataflow.binary add %1, %s : tensor<64xf32>, tensor<64xf32>
  %3 = dataflow.unary exp %2 : tensor<64xf32>
  return %3, %2 : tensor<64xf32>, tensor<64xf32>
}
