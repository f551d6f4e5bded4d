// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(dataflow-overlap-requests{requests=3 flops-per-sec=1e9 bytes-per-sec=1e12 link-bytes-per-sec=4e9}))' | FileCheck %s

// A request crosses a cut in one direction: 4,000 bytes at 4e9 bytes per second take as long as an operator, not twice.
// CHECK-LABEL: func.func @rates
// CHECK-DAG: %[[FIRST:.*]] = dataflow.state "pipeline.0" dense<0.000000e+00> : tensor<1000xf32>
// CHECK-DAG: %[[SECOND:.*]] = dataflow.state "pipeline.1" dense<0.000000e+00> : tensor<1000xf32>
// CHECK: dataflow.unary{{ +}}neg %arg0
// CHECK: dataflow.unary{{ +}}neg %[[FIRST]]
// CHECK: dataflow.reduce{{ +}}sum %[[SECOND]]
func.func @rates(%x: tensor<1000xf32> {dataflow.name = "x"}) -> (tensor<1xf32> {dataflow.name = "y"}) {
  %0 = dataflow.unary neg %x : tensor<1000xf32>
  %1 = dataflow.unary neg %0 : tensor<1000xf32>
  %2 = dataflow.reduce sum %1 axes [0] {keep_dims = true} : tensor<1000xf32> -> tensor<1xf32>
  %3 = dataflow.unary neg %2 : tensor<1xf32>
  return %3 : tensor<1xf32>
}
