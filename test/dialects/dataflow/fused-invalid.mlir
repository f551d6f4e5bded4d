// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @two_anchors(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{has 2 members with a kernel of their own, at most one is allowed}}
  %0 = dataflow.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = dataflow.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
    %2 = dataflow.matmul %1, %a : tensor<4x4xf32>, tensor<4x4xf32>
    dataflow.yield %2 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @member(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{member 'dataflow.batch_norm' can be computed neither element by element nor by a kernel of its own}}
  %0 = dataflow.fused (%a = %x : tensor<2x3x4xf32>, %b = %c : tensor<3xf32>) -> (tensor<2x3x4xf32>) {
    %1 = dataflow.batch_norm %a, %b, %b, %b, %b {epsilon = 0.0 : f64} : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
    dataflow.yield %1 : tensor<2x3x4xf32>
  }
  return
}

// -----

func.func @constant(%x: tensor<2xf32>) {
  // expected-error @+1 {{holds a constant that is not a splat}}
  %0 = dataflow.fused (%a = %x : tensor<2xf32>) -> (tensor<2xf32>) {
    %1 = dataflow.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %2 = dataflow.binary add %a, %1 : tensor<2xf32>, tensor<2xf32>
    dataflow.yield %2 : tensor<2xf32>
  }
  return
}

// -----

func.func @passes_through(%x: tensor<2xf32>) {
  // expected-error @+1 {{yields an unchanged operand}}
  %0 = dataflow.fused (%a = %x : tensor<2xf32>) -> (tensor<2xf32>) {
    dataflow.yield %a : tensor<2xf32>
  }
  return
}

// -----

func.func @result_type(%x: tensor<2xf32>) {
  // expected-error @+1 {{yields types that differ from the result types}}
  %0 = dataflow.fused (%a = %x : tensor<2xf32>) -> (tensor<3xf32>) {
    %1 = dataflow.unary exp %a : tensor<2xf32>
    dataflow.yield %1 : tensor<2xf32>
  }
  return
}

// -----

func.func @captures(%x: tensor<2xf32>) {
  // expected-note @+1 {{required by region isolation constraints}}
  %0 = dataflow.fused (%a = %x : tensor<2xf32>) -> (tensor<2xf32>) {
    // expected-error @+1 {{using value defined outside the region}}
    %1 = dataflow.binary add %a, %x : tensor<2xf32>, tensor<2xf32>
    dataflow.yield %1 : tensor<2xf32>
  }
  return
}

// -----

// Elements behind the loops stay where they are: no broadcast, no movement.
func.func @broadcast_behind(%x: tensor<4x8xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{member 'dataflow.binary' must map each element of 'dataflow.reduce'}}
  %0 = dataflow.fused (%a = %x : tensor<4x8xf32>, %b = %y : tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = dataflow.reduce sum %a axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    %2 = dataflow.binary add %1, %b : tensor<4xf32>, tensor<3x4xf32>
    dataflow.yield %2 : tensor<3x4xf32>
  }
  return
}

// -----

func.func @moved_behind(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{member 'dataflow.transpose' must map each element of 'dataflow.matmul'}}
  %0 = dataflow.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = dataflow.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
    %2 = dataflow.transpose %1 [1, 0] : tensor<4x4xf32>
    dataflow.yield %2 : tensor<4x4xf32>
  }
  return
}

// -----

func.func @no_epilogue(%x: tensor<4xf32>) {
  // expected-error @+1 {{member 'dataflow.concat' has an epilogue, which this operator does not support}}
  %0 = dataflow.fused (%a = %x : tensor<4xf32>) -> (tensor<8xf32>) {
    %1 = dataflow.concat %a, %a {axis = 0 : i64} : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
    %2 = dataflow.unary relu %1 : tensor<8xf32>
    dataflow.yield %2 : tensor<8xf32>
  }
  return
}

// -----

func.func @second_result(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{yields 2 values, and 'dataflow.matmul' computes 1 values}}
  %0, %1 = dataflow.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %2 = dataflow.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
    %3 = dataflow.unary relu %2 : tensor<4x4xf32>
    dataflow.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return
}

// -----

func.func @unrelated_result(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{yields a value that does not depend on 'dataflow.matmul'}}
  %0 = dataflow.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = dataflow.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
    %2 = dataflow.unary relu %a : tensor<4x4xf32>
    dataflow.yield %2 : tensor<4x4xf32>
  }
  return
}
