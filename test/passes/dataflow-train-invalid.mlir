// RUN: sluice-opt %s --split-input-file --verify-diagnostics --dataflow-train='loss=softmax-cross-entropy'

// expected-error @+1 {{has no trainable parameter}}
func.func @fixed(%x: tensor<8x3xf32>) -> (tensor<8x3xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" dense<0.5> : tensor<3xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x3xf32>, tensor<3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// expected-error @+1 {{the loss depends on no trainable parameter}}
func.func @idle(%x: tensor<8x3xf32>) -> (tensor<8x3xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3xf32>
  return %x : tensor<8x3xf32>
}

// -----

// expected-error @+1 {{has several outputs, and the loss needs one, option '--train', give of=NAME, where NAME is 'y' or 'z'}}
func.func @several(%x: tensor<8x3xf32>) -> (tensor<8x3xf32> {dataflow.name = "y"}, tensor<8x3xf32> {dataflow.name = "z"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x3xf32>, tensor<3xf32>
  return %0, %x : tensor<8x3xf32>, tensor<8x3xf32>
}

// -----

// expected-error @+1 {{the output of the loss must have floating-point elements and has elements of type 'i64', option '--train of', name an output of floating-point elements}}
func.func @integers(%x: tensor<8xf32>) -> (tensor<8xi64> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<8xf32>
  %0 = dataflow.cast %w : tensor<8xf32> -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

// -----

// expected-error @+1 {{softmax-cross-entropy needs an output with an axis of classes, and the output is one number, use mse or output}}
func.func @one_number(%x: tensor<f32>) -> (tensor<f32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<f32>
  %0 = dataflow.binary mul %x, %w : tensor<f32>, tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @no_gradient(%x: tensor<2x3x2x2xf32>) -> (tensor<2x3x4x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x1x1xf32>
  %0 = dataflow.binary mul %x, %w : tensor<2x3x2x2xf32>, tensor<3x1x1xf32>
  // expected-error @+1 {{has no gradient, and lies between the loss and a tensor whose gradient is needed}}
  %1 = dataflow.resize linear %0 scales [1.0, 1.0, 2.0, 2.0] half_pixel round_prefer_floor : tensor<2x3x2x2xf32> -> tensor<2x3x4x4xf32>
  return %1 : tensor<2x3x4x4xf32>
}

// -----

func.func @no_gradient_of_a_mode(%x: tensor<2x3xf32>) -> (tensor<2x5xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3xf32>
  %0 = dataflow.binary mul %x, %w : tensor<2x3xf32>, tensor<3xf32>
  %zero = dataflow.constant dense<0.0> : tensor<f32>
  // expected-error @+1 {{'reflect' has no gradient}}
  %1 = dataflow.pad reflect %0, %zero low [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}
