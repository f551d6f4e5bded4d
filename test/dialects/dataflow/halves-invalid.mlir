// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @depth(%a: tensor<4x8xf16>, %p: tensor<2048xi8>) {
  // expected-error @+1 {{half_matmul contracts 8 elements of the left-hand side with panels of 1 x 7 elements, and both numbers must be equal}}
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 7, panel = 16> : (tensor<4x8xf16>, tensor<2048xi8>) -> tensor<4x6xf16>
  return
}

// -----

func.func @rank(%a: tensor<8xf16>, %p: tensor<2048xi8>) {
  // expected-error @+1 {{half_matmul operand has rank 1, at least 2 is needed}}
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8xf16>, tensor<2048xi8>) -> tensor<6xf16>
  return
}

// -----

func.func @bytes(%a: tensor<4x8xf16>, %p: tensor<2047xi8>) {
  // expected-error @+1 {{packed operand must have rank 1 and the 2048 bytes of the panels}}
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<4x8xf16>, tensor<2047xi8>) -> tensor<4x6xf16>
  return
}

// -----

func.func @parts(%a: tensor<4x8xf16>, %p: tensor<1024xi8>) {
  // expected-error @+1 {{elements of type 'f16' have 2 parts, and the panels have 1}}
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<4x8xf16>, tensor<1024xi8>) -> tensor<4x6xf16>
  return
}

// -----

func.func @three_parts(%w: tensor<8x6xf32>) {
  // expected-error @+1 {{elements cannot have 3 parts, use 1 or 2}}
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 3, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8x6xf32>) -> tensor<1024xi8>
  return
}

// -----

func.func @narrow(%w: tensor<8x6xf32>) {
  // expected-error @+1 {{panels for tiles must have a multiple of 16 columns}}
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 1, columns = 6, segments = 1, length = 8, panel = 8> : (tensor<8x6xf32>) -> tensor<512xi8>
  return
}

// -----

func.func @matrix(%w: tensor<8x7xf32>) {
  // expected-error @+1 {{must pack a matrix of 8 x 6}}
  %0 = dataflow.pack_half_rhs %w panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8x7xf32>) -> tensor<256xi8>
  return
}

// -----

func.func @elements(%w: tensor<8x6xf64>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 32-bit float or 16-bit float or bfloat16 type values}}
  %0 = dataflow.pack_half_rhs %w panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8x6xf64>) -> tensor<256xi8>
  return
}

// -----

func.func @channels(%x: tensor<1x9x9x4xbf16>, %p: tensor<9216xi8>) {
  // expected-error @+1 {{half_conv of 4 channels does not match the panels}}
  %0 = dataflow.half_conv %x, %p kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 1, columns = 6, segments = 9, length = 5, panel = 16> : (tensor<1x9x9x4xbf16>, tensor<9216xi8>) -> tensor<1x9x9x6xbf16>
  return
}

// -----

func.func @signal(%x: tensor<1x9x4xbf16>, %p: tensor<3072xi8>) {
  // expected-error @+1 {{half_conv needs a channels_last image and a kernel of two dimensions}}
  %0 = dataflow.half_conv %x, %p kernel [3] strides [1] pads [1, 1] dilations [1] panels <dot = tiles, parts = 1, columns = 6, segments = 3, length = 4, panel = 16> : (tensor<1x9x4xbf16>, tensor<3072xi8>) -> tensor<1x9x6xbf16>
  return
}

// -----

// Segments of one element are padded to 32: 2^64 bytes.
func.func @padded(%w: tensor<134217728x1073741824xf16>) {
  // expected-error @+1 {{panels of more bytes than can be counted}}
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 2, columns = 1073741824, segments = 134217728, length = 1, panel = 16> : (tensor<134217728x1073741824xf16>) -> tensor<0xi8>
  return
}
