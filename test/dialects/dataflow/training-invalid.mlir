// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @nameless() {
  // expected-error @+1 {{has no name}}
  %0 = dataflow.state "" dense<0.5> : tensor<3xf32>
  return
}

// -----

func.func @trained_integers() {
  // expected-error @+1 {{is trainable and holds 'i64' elements instead of floats}}
  %0 = dataflow.state "n" trainable dense<5> : tensor<3xi64>
  return
}

// -----

func.func @several_steps(%step: tensor<2xi64>) {
  // expected-error @+1 {{step must be one number}}
  %0 = dataflow.dropout_mask %step {keep = 0.75, seed = 3} : (tensor<2xi64>) -> tensor<4xi1>
  return
}

// -----

func.func @certain_and_more(%step: tensor<i64>) {
  // expected-error @+1 {{keep must be a probability from 0 to 1}}
  %0 = dataflow.dropout_mask %step {keep = 1.25, seed = 3} : (tensor<i64>) -> tensor<4xi1>
  return
}

// -----

func.func @not_a_number(%step: tensor<i64>) {
  // expected-error @+1 {{keep must be a probability from 0 to 1}}
  %0 = dataflow.dropout_mask %step {keep = 0x7FF8000000000000 : f64, seed = 3} : (tensor<i64>) -> tensor<4xi1>
  return
}

// -----

func.func @mask_of_floats(%step: tensor<i64>) {
  // expected-error @+1 {{result #0 must be}}
  %0 = dataflow.dropout_mask %step {keep = 0.5, seed = 3} : (tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @conv_ranks(%x: tensor<4x4x9x8xf32>, %g: tensor<4x6x9x8xf32>) {
  // expected-error @+1 {{strides, pads_low, dilations, input, gradient and result differ in rank}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [1, 1] dilations [1, 1] : (tensor<4x4x9x8xf32>, tensor<4x6x9x8xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_without_space(%x: tensor<4x4xf32>, %g: tensor<4x6xf32>) {
  // expected-error @+1 {{differ in rank}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [] pads_low [] dilations [] : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<4x4x9xf32>, %g: tensor<4x6x9xf32>) {
  // expected-error @+1 {{channels, groups and batch of input, gradient and result do not match}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [1] dilations [1] {groups = 3 : i64} : (tensor<4x4x9xf32>, tensor<4x6x9xf32>) -> tensor<6x1x3xf32>
  return
}

// -----

func.func @conv_no_groups(%x: tensor<4x4x9xf32>, %g: tensor<4x6x9xf32>) {
  // expected-error @+1 {{channels, groups and batch of input, gradient and result do not match}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [1] dilations [1] {groups = 0 : i64} : (tensor<4x4x9xf32>, tensor<4x6x9xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

func.func @conv_batch(%x: tensor<4x4x9xf32>, %g: tensor<2x6x9xf32>) {
  // expected-error @+1 {{channels, groups and batch of input, gradient and result do not match}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [1] dilations [1] : (tensor<4x4x9xf32>, tensor<2x6x9xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

func.func @conv_elements(%x: tensor<4x4x9xf32>, %g: tensor<4x6x9xf64>) {
  // expected-error @+1 {{operands and result differ in element type}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [1] dilations [1] : (tensor<4x4x9xf32>, tensor<4x6x9xf64>) -> tensor<6x4x3xf32>
  return
}

// -----

func.func @conv_stride(%x: tensor<4x4x9xf32>, %g: tensor<4x6x9xf32>) {
  // expected-error @+1 {{strides and dilations must be at least 1 and below 2^31, and pads_low must fit 32 bits}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [0] pads_low [1] dilations [1] : (tensor<4x4x9xf32>, tensor<4x6x9xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

func.func @conv_pad(%x: tensor<4x4x9xf32>, %g: tensor<4x6x9xf32>) {
  // expected-error @+1 {{strides and dilations must be at least 1 and below 2^31, and pads_low must fit 32 bits}}
  %0 = dataflow.conv_weight_gradient %x, %g strides [1] pads_low [-9223372036854775808] dilations [1] : (tensor<4x4x9xf32>, tensor<4x6x9xf32>) -> tensor<6x4x3xf32>
  return
}

// -----

func.func @pool_ranks(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{kernel, strides, pads, dilations, gradient and result differ in rank}}
  %0 = dataflow.pool_gradient average %g kernel [2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @pool_channels(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{must keep batch and channels}}
  %0 = dataflow.pool_gradient average %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>) -> tensor<1x3x9x10xf32>
  return
}

// -----

func.func @pool_dilation(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{kernel, strides and dilations must be at least 1 and below 2^31, and pads must fit 32 bits}}
  %0 = dataflow.pool_gradient average %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 0] : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @pool_high_pad(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{kernel, strides and dilations must be at least 1 and below 2^31, and pads must fit 32 bits}}
  %0 = dataflow.pool_gradient average %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 4294967296] dilations [1, 1] : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @max_without_input(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{'max' must save 1 tensor, and saves 0}}
  %0 = dataflow.pool_gradient max %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @average_with_input(%g: tensor<1x2x4x5xf32>, %x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{'average' must save 0 tensors, and saves 1}}
  %0 = dataflow.pool_gradient average %g saved %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>, tensor<1x2x9x10xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @lp_saves_twice_the_input(%g: tensor<1x2x4x5xf32>, %x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{saved tensor 1 differs in type from that of the pooling operator}}
  %0 = dataflow.pool_gradient lp %g saved %x, %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>, tensor<1x2x9x10xf32>, tensor<1x2x9x10xf32>) -> tensor<1x2x9x10xf32>
  return
}

// -----

func.func @pool_elements(%g: tensor<1x2x4x5xf32>) {
  // expected-error @+1 {{changes the element type}}
  %0 = dataflow.pool_gradient average %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf64>
  return
}

// -----

func.func @no_channels(%x: tensor<4xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{input has no channels}}
  %y:3 = dataflow.batch_norm_train %x, %c, %c {epsilon = 1.0e-5} : tensor<4xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @other_channels(%x: tensor<4x3xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  // expected-error @+1 {{scale and bias must be 'tensor<3xf32>', one value for each channel}}
  %y:3 = dataflow.batch_norm_train %x, %c, %d {epsilon = 1.0e-5} : tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32> -> tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @no_batch(%x: tensor<0x3xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{has an input without elements, of which no statistics exist}}
  %y:3 = dataflow.batch_norm_train %x, %c, %c {epsilon = 1.0e-5} : tensor<0x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<0x3xf32>, tensor<3xf32>, tensor<3xf32>
  return
}
