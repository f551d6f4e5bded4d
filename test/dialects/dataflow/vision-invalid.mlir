// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @positions(%x: tensor<2x3x8x9xf32>, %p: tensor<2x4x5x3xf32>) {
  // expected-error @+1 {{positions of 'tensor<2x4x5x3xf32>' do not match an input of 'tensor<2x3x8x9xf32>'}}
  %0 = dataflow.grid_sample linear zeros %x, %p : tensor<2x3x8x9xf32>, tensor<2x4x5x3xf32>
  return
}

// -----

func.func @empty(%x: tensor<2x3x0x9xf32>, %p: tensor<2x4x5x2xf32>) {
  // expected-error @+1 {{samples an empty input}}
  %0 = dataflow.grid_sample linear zeros %x, %p : tensor<2x3x0x9xf32>, tensor<2x4x5x2xf32>
  return
}

// -----

func.func @taps(%x: tensor<1x1x2x2x2x2xf32>, %p: tensor<1x3x4xf32>) {
  // expected-error @+1 {{has too many spatial dimensions, 4}}
  %0 = dataflow.grid_sample cubic zeros %x, %p : tensor<1x1x2x2x2x2xf32>, tensor<1x3x4xf32>
  return
}

// -----

func.func @rois(%x: tensor<2x3x8x9xf32>, %r: tensor<6x5xf32>, %i: tensor<6xi64>) {
  // expected-error @+1 {{rois of 'tensor<6x5xf32>' and images of 'tensor<6xi64>' do not match an input}}
  %0 = dataflow.roi_align %x, %r, %i {height = 2 : i64, width = 3 : i64, sampling_ratio = 0 : i64, spatial_scale = 0.5 : f64} : tensor<2x3x8x9xf32>, tensor<6x5xf32>, tensor<6xi64> -> tensor<6x3x2x3xf32>
  return
}

// -----

func.func @bins(%x: tensor<2x3x8x9xf32>, %r: tensor<6x4xf32>, %i: tensor<6xi64>) {
  // expected-error @+1 {{height, width or sampling_ratio is out of range}}
  %0 = dataflow.roi_align %x, %r, %i {height = 0 : i64, width = 3 : i64, sampling_ratio = 0 : i64, spatial_scale = 0.5 : f64} : tensor<2x3x8x9xf32>, tensor<6x4xf32>, tensor<6xi64> -> tensor<6x3x0x3xf32>
  return
}

// -----

func.func @window(%x: tensor<2x3x8x9xf32>) {
  // expected-error @+1 {{kernel, strides, pads, dilations, input and result differ in rank}}
  %0 = dataflow.pool_index %x kernel [2] strides [2, 2] pads [0, 0] dilations [1, 1] : tensor<2x3x8x9xf32> -> tensor<2x3x4x4xi64>
  return
}

// -----

func.func @boxes(%b: tensor<2x7x3xf32>, %s: tensor<2x3x7xf32>, %n: tensor<i64>, %o: tensor<f32>) {
  // expected-error @+1 {{scores of 'tensor<2x3x7xf32>' do not match boxes of 'tensor<2x7x3xf32>'}}
  %1:2 = dataflow.non_max_suppression %b, %s, %n, %o {most = 4 : i64} : tensor<2x7x3xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  return
}

// -----

func.func @limits(%b: tensor<2x7x4xf32>, %s: tensor<2x3x7xf32>, %n: tensor<1xi64>, %o: tensor<f32>) {
  // expected-error @+1 {{operand #2 must be 0D tensor of 64-bit signless integer values, but got 'tensor<1xi64>'}}
  %1:2 = dataflow.non_max_suppression %b, %s, %n, %o {most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<1xi64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  return
}

// -----

func.func @width(%x: tensor<3xf32>) {
  // expected-error @+1 {{elements of 'f32' and 'i16' differ in size}}
  %0 = dataflow.bitcast %x : tensor<3xf32> -> tensor<3xi16>
  return
}
