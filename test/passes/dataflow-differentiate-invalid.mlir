// RUN: sluice-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(dataflow-differentiate{result=1 arguments=1}))'

// expected-error @+1 {{the function has no result 1, option 'result' of dataflow-differentiate, give a number below 1}}
func.func @one_result(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  return %x : tensor<4xf64>
}

// -----

// expected-error @+1 {{result 1 holds no floats, option 'result' of dataflow-differentiate, give a result of floats}}
func.func @integer_result(%x: tensor<4xf64>, %n: tensor<4xi32>) -> (tensor<4xf64>, tensor<4xi32>) {
  return %x, %n : tensor<4xf64>, tensor<4xi32>
}

// -----

// expected-error @+1 {{has no argument 1 that holds floats}}
func.func @integer_argument(%x: tensor<4xf64>, %n: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xf64>) {
  return %n, %x : tensor<4xi32>, tensor<4xf64>
}

// -----

// expected-error @+1 {{has no argument 1 that holds floats}}
func.func @one_argument(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  return %x, %x : tensor<4xf64>, tensor<4xf64>
}

// -----

func.func @no_gradient(%n: tensor<4xi64>, %x: tensor<1x1x2x2xf32>) -> (tensor<4xi64>, tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{has no gradient, and lies between the loss and a tensor whose gradient is needed}}
  %0 = dataflow.resize linear %x scales [1.0, 1.0, 2.0, 2.0] half_pixel round_prefer_floor : tensor<1x1x2x2xf32> -> tensor<1x1x4x4xf32>
  return %n, %0 : tensor<4xi64>, tensor<1x1x4x4xf32>
}

// -----

// Beside the path it may lie.
func.func @beside(%n: tensor<1x1x2x2xf32>, %x: tensor<1x1x4x4xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x4x4xf32>) {
  %0 = dataflow.resize linear %n scales [1.0, 1.0, 2.0, 2.0] half_pixel round_prefer_floor : tensor<1x1x2x2xf32> -> tensor<1x1x4x4xf32>
  %1 = dataflow.binary add %0, %x : tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>
  return %n, %1 : tensor<1x1x2x2xf32>, tensor<1x1x4x4xf32>
}

// -----

// expected-error @+1 {{argument 0 is not a tensor of static shape, function 'dynamic', give a program in the form that --compile-to=import prints}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{'arith.addf' is not an operator of the dataflow dialect, function 'foreign'}}
func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{result 1 has no gradient: its result has more than 2^59 elements}}
func.func @huge(%x: tensor<1152921504606846976xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<1152921504606846976xf32>) {
  %0 = dataflow.unary tanh %x : tensor<1152921504606846976xf32>
  return %y, %0 : tensor<4xf32>, tensor<1152921504606846976xf32>
}
