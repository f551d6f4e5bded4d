// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK: dataflow.insert %{{.*}}, %{{.*}} at %{{.*}} {dim = 1 : i64} : tensor<2x16x4xf32>, tensor<2x1x4xf32>, tensor<i64> -> tensor<2x16x4xf32>
func.func @constant(%cache: tensor<2x16x4xf32>, %rows: tensor<2x1x4xf32>, %start: tensor<i64>) -> tensor<2x16x4xf32> {
  %0 = dataflow.insert %cache, %rows at %start {dim = 1 : i64}
      : tensor<2x16x4xf32>, tensor<2x1x4xf32>, tensor<i64> -> tensor<2x16x4xf32>
  return %0 : tensor<2x16x4xf32>
}

// A part of as many positions as a step says.
#symbols = #dataflow.symbols<"new" = 0 to 4>
// CHECK: dataflow.insert %{{.*}}, %{{.*}} at %{{.*}} {dim = 0 : i64} : tensor<16xi64>, tensor<4xi64, #dataflow.extents<{{.*}}>>, tensor<i32> -> tensor<16xi64>
func.func @step(%cache: tensor<16xi64>, %rows: tensor<4xi64, #dataflow.extents<()[s0] -> (s0), #symbols>>, %start: tensor<i32>) -> tensor<16xi64> {
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64}
      : tensor<16xi64>, tensor<4xi64, #dataflow.extents<()[s0] -> (s0), #symbols>>, tensor<i32> -> tensor<16xi64>
  return %0 : tensor<16xi64>
}

// A state that grows says by how much.
// CHECK: dataflow.state "past" length <()[s0] -> (s0, s0 + 4), <"past" = 0 to 12>> dense<0.000000e+00> : tensor<16xf32>
func.func @state() -> (tensor<16xf32> {dataflow.updates = "past"}) {
  %0 = dataflow.state "past" length <()[s0] -> (s0, s0 + 4), <"past" = 0 to 12>> dense<0.0> : tensor<16xf32>
  %1 = dataflow.copy %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}

// CHECK: dataflow.state "past" length <()[s0] -> (s0, s0 + 1), <"past" = 0 to 15>> dense<0.000000e+00> : tensor<2x16x4xf32>
func.func @longer() -> tensor<2x16x4xf32> {
  %past = dataflow.state "past" length #dataflow.extents<()[s0] -> (s0, s0 + 1), <"past" = 0 to 15>> dense<0.0> : tensor<2x16x4xf32>
  return %past : tensor<2x16x4xf32>
}
