// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @ranks(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{kernel, strides, pads, dilations, input and result differ in rank}}
  %0 = dataflow.pool max %x kernel [3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  return
}

// -----

func.func @negative_pad(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{kernel, strides and dilations must be at least 1 and pads at least 0}}
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 2] pads [-1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  return
}

// -----

func.func @too_many_windows(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{has windows that begin past the end of spatial dimension 0}}
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x7x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{must keep batch and channels}}
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x3x5x5xf32>
  return
}

// -----

func.func @power(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{p is 1000000000000, and must be from 1 to 64}}
  %0 = dataflow.pool lp %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] {p = 1000000000000 : i64} : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  return
}

// -----

func.func @power_of_integers(%x: tensor<1x2x9x10xi8>) {
  // expected-error @+1 {{'lp' needs float elements, got 'i8'}}
  %0 = dataflow.pool lp %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xi8> -> tensor<1x2x5x5xi8>
  return
}

// -----

func.func @scale(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{must have positive, finite scales, and has another scale in dimension 1}}
  %0 = dataflow.resize linear %x scales [1.0, 0.0] half_pixel floor : tensor<4x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @roi(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{tf_crop_and_resize needs a roi}}
  %0 = dataflow.resize linear %x scales [1.0, 2.0] tf_crop_and_resize floor : tensor<4x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @interpolation(%x: tensor<4x4xi32>) {
  // expected-error @+1 {{interpolation needs float elements}}
  %0 = dataflow.resize cubic %x scales [1.0, 2.0] half_pixel floor : tensor<4x4xi32> -> tensor<4x8xi32>
  return
}

// -----

func.func @size(%x: tensor<1x2x3xf32>) {
  // expected-error @+1 {{size is not positive}}
  %0 = dataflow.lrn %x {alpha = 0.0001 : f64, beta = 0.75 : f64, bias = 1.0 : f64, size = 0 : i64} : tensor<1x2x3xf32> -> tensor<1x2x3xf32>
  return
}

// -----

func.func @large_numbers(%x: tensor<1x2x9x10xf32>) {
  // expected-error @+1 {{kernel, strides, pads or dilations do not fit 32 bits}}
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 9223372036854775807] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  return
}
