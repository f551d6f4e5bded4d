// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is outside rank 2}}
  %0 = dataflow.reduce sum %x axes [2] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @axis_twice(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 1 is named twice}}
  %0 = dataflow.reduce sum %x axes [1, 1] : tensor<2x3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @sum_of_bools(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{'sum' is not defined on bool}}
  %0 = dataflow.reduce sum %x axes [1] : tensor<2x3xi1> -> tensor<2xi1>
  return
}

// -----

func.func @root_of_integers(%x: tensor<2x3xi32>) {
  // expected-error @+1 {{'l2' needs float elements, got 'i32'}}
  %0 = dataflow.reduce l2 %x axes [1] : tensor<2x3xi32> -> tensor<2xi32>
  return
}

// -----

func.func @best_along_nothing(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis -1 is outside rank 2}}
  %0 = "dataflow.arg_reduce"(%x) <{axis = -1 : i64}> : (tensor<2x3xf32>) -> tensor<2x1xi64>
  return
}

// -----

func.func @best_of_nothing(%x: tensor<2x0xf32>) {
  // expected-error @+1 {{has no elements along axis 1}}
  %0 = dataflow.arg_reduce %x {axis = 1 : i64} : tensor<2x0xf32> -> tensor<2x1xi64>
  return
}

// -----

func.func @more_than_all(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{k is 4, and must be from 0 to the 3 elements of the axis}}
  %0, %1 = dataflow.topk %x {axis = 1 : i64, k = 4 : i64} : tensor<2x3xf32> -> tensor<2x4xf32>, tensor<2x4xi64>
  return
}

// -----

func.func @scan_of_bools(%x: tensor<2x3xi1>) {
  // expected-error @+1 {{is not defined on bool}}
  %0 = dataflow.cumsum %x {axis = 1 : i64} : tensor<2x3xi1> -> tensor<2x3xi1>
  return
}

// -----

func.func @softmax_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis -1 is outside rank 2}}
  %0 = dataflow.softmax %x {axis = -1 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @scale(%x: tensor<2x3xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{scale or bias does not broadcast to the input}}
  %0 = dataflow.layer_norm %x, %s {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x3x4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{a per-channel operand must have the shape [3]}}
  %0 = dataflow.instance_norm %x, %c, %c {epsilon = 0.0 : f64} : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
  return
}

// -----

// The generic form gives no way around the attributes.
func.func @missing_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{requires attribute 'axis'}}
  %0 = "dataflow.softmax"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
