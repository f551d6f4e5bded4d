// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @depth(%a: tensor<4x8xui8>, %b: tensor<7x6xi8>) {
  // expected-error @+1 {{integer_matmul contracts 8 elements of the left-hand side with 7 of the right-hand side, and both numbers must be equal}}
  %0 = dataflow.integer_matmul %a, %b : (tensor<4x8xui8>, tensor<7x6xi8>) -> tensor<4x6xi32>
  return
}

// -----

func.func @rank(%a: tensor<8xui8>, %b: tensor<8x6xi8>) {
  // expected-error @+1 {{integer_matmul operands have ranks 1 and 2, at least 2 is needed}}
  %0 = dataflow.integer_matmul %a, %b : (tensor<8xui8>, tensor<8x6xi8>) -> tensor<6xi32>
  return
}

// -----

func.func @batch(%a: tensor<2x4x8xui8>, %b: tensor<3x8x6xi8>) {
  // expected-error @+1 {{integer_matmul batch dimensions do not broadcast to each other}}
  %0 = dataflow.integer_matmul %a, %b : (tensor<2x4x8xui8>, tensor<3x8x6xi8>) -> tensor<3x4x6xi32>
  return
}

// -----

func.func @elements(%a: tensor<4x8xui16>, %b: tensor<8x6xi8>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 8-bit signless integer or 8-bit unsigned integer values}}
  %0 = dataflow.integer_matmul %a, %b : (tensor<4x8xui16>, tensor<8x6xi8>) -> tensor<4x6xi32>
  return
}

// -----

func.func @row_zeros(%a: tensor<4x8xui8>, %b: tensor<8x6xi8>, %z: tensor<4xi32>) {
  // expected-error @+1 {{must have one zero point of the left-hand side, or one for each row}}
  %0 = dataflow.integer_matmul %a less %z, %b : (tensor<4x8xui8>, tensor<8x6xi8>, tensor<4xi32>) -> tensor<4x6xi32>
  return
}

// -----

func.func @column_zeros(%a: tensor<4x8xui8>, %b: tensor<8x6xi8>, %z: tensor<5xi32>) {
  // expected-error @+1 {{has 5 zero points of the right-hand side for 6 columns}}
  %0 = dataflow.integer_matmul %a, %b less %z : (tensor<4x8xui8>, tensor<8x6xi8>, tensor<5xi32>) -> tensor<4x6xi32>
  return
}

// -----

func.func @panels(%a: tensor<4x8xui8>, %b: tensor<8x6xi8>) {
  // expected-error @+1 {{panels are too small for 8 x 6}}
  %0 = dataflow.integer_matmul %a, %b panels <dot = quads, columns = 6, segments = 2, length = 4, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xi32>
  return
}

// -----

func.func @packed_size(%a: tensor<4x8xui8>, %b: tensor<191xi8>) {
  // expected-error @+1 {{packed operand of 191 bytes does not match panels for 8 x 6}}
  %0 = dataflow.integer_matmul %a, %b panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<191xi8>) -> tensor<4x6xi32>
  return
}

// -----

func.func @packed_zeros(%a: tensor<4x8xui8>, %b: tensor<192xi8>, %z: tensor<i32>) {
  // expected-error @+1 {{must not have zero points for a packed operand, which contains them}}
  %0 = dataflow.integer_matmul %a, %b less %z panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<192xi8>, tensor<i32>) -> tensor<4x6xi32>
  return
}

// -----

// expected-error @+1 {{panels of 0 columns, use 1 to 4096}}
#narrow = #dataflow.integer_panels<dot = plain, columns = 6, segments = 1, length = 8, panel = 0, zeroPoints = false>

// -----

// expected-error @+1 {{panels for tiles must have no zero points, and a number of columns that is a multiple of 16}}
#zeros = #dataflow.integer_panels<dot = tiles, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = true>

// -----

// expected-error @+1 {{panels of 6 columns and 0 x 8 rows, use 1 to 2147483648 of each}}
#empty = #dataflow.integer_panels<dot = plain, columns = 6, segments = 0, length = 8, panel = 16, zeroPoints = false>

// -----

// expected-error @+1 {{panels of more bytes than can be counted}}
#large = #dataflow.integer_panels<dot = plain, columns = 2147483648, segments = 2147483648, length = 2, panel = 16, zeroPoints = false>

// -----

func.func @pack(%b: tensor<8x6xi8>) {
  // expected-error @+1 {{must pack matrices of 12 x 6 bytes}}
  %0 = dataflow.pack_integer_rhs %b panels <dot = quads, columns = 6, segments = 1, length = 12, panel = 16, zeroPoints = false> : (tensor<8x6xi8>) -> tensor<256xi8>
  return
}

// -----

func.func @pack_zeros(%b: tensor<8x6xi8>, %z: tensor<4xi32>) {
  // expected-error @+1 {{has 4 zero points for 6 columns}}
  %0 = dataflow.pack_integer_rhs %b less %z panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = true> : (tensor<8x6xi8>, tensor<4xi32>) -> tensor<256xi8>
  return
}

// -----

func.func @conv_zeros(%x: tensor<1x4x9x9xui8>, %w: tensor<6x4x3x3xi8>, %z: tensor<4xi32>) {
  // expected-error @+1 {{must have at most one zero point of the input}}
  %0 = dataflow.integer_conv %x less %z, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<4xi32>) -> tensor<1x6x9x9xi32>
  return
}

// -----

func.func @conv_filters(%x: tensor<1x4x9x9xui8>, %w: tensor<6x4x3x3xi8>, %z: tensor<4xi32>) {
  // expected-error @+1 {{has 4 zero points for 6 filters}}
  %0 = dataflow.integer_conv %x, %w less %z strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<4xi32>) -> tensor<1x6x9x9xi32>
  return
}

// -----

func.func @conv_channels(%x: tensor<1x4x9x9xui8>, %w: tensor<6x3x3x3xi8>) {
  // expected-error @+1 {{integer_conv of 4 to 6 channels in 1 groups does not match the shape of the weight}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x3x3x3xi8>) -> tensor<1x6x9x9xi32>
  return
}

// -----

func.func @conv_panels(%x: tensor<1x9x9x4xui8>, %w: tensor<640xi8>) {
  // expected-error @+1 {{has panels that do not match the weight}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = quads, columns = 6, segments = 9, length = 4, panel = 16, zeroPoints = false> {filters = 6 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x4xui8>, tensor<640xi8>) -> tensor<1x9x9x6xi32>
  return
}

// -----

func.func @conv_layout(%x: tensor<1x4x9x9xui8>, %w: tensor<640xi8>) {
  // expected-error @+1 {{a packed weight needs a channels_last image}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = quads, columns = 6, segments = 3, length = 12, panel = 16, zeroPoints = false> {filters = 6 : i64, kernel = array<i64: 3, 3>} : (tensor<1x4x9x9xui8>, tensor<640xi8>) -> tensor<1x6x9x9xi32>
  return
}

// -----

// Columns are padded to panels, and segments to rows of tile registers: 2^65 bytes.
// expected-error @+1 {{panels of more bytes than can be counted}}
#padded = #dataflow.integer_panels<dot = tiles, columns = 2147483648, segments = 268435456, length = 1, panel = 16, zeroPoints = false>

// -----

func.func @unsigned_columns(%a: tensor<4x8xui8>, %b: tensor<8x6xui8>) {
  // expected-error @+1 {{has unsigned bytes without a zero point, but panels without zero points, give a zero point or panels with zero points}}
  %0 = dataflow.integer_matmul %a, %b panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<8x6xui8>) -> tensor<4x6xi32>
  return
}

// -----

func.func @unsigned_pack(%b: tensor<8x6xui8>) {
  // expected-error @+1 {{has unsigned bytes without a zero point, but panels without zero points, give a zero point or panels with zero points}}
  %0 = dataflow.pack_integer_rhs %b panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<8x6xui8>) -> tensor<192xi8>
  return
}

// -----

func.func @conv_kernel(%x: tensor<1x4x9x9xui8>, %w: tensor<6x4x3x3xi8>) {
  // expected-error @+1 {{'kernel' and 'filters' are for packed weights, and the weight is not packed}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 1, 1>} : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>) -> tensor<1x6x9x9xi32>
  return
}

// -----

func.func @conv_few_filters(%x: tensor<1x4x9x9xui8>, %w: tensor<6x4x3x3xi8>) {
  // expected-error @+1 {{'kernel' and 'filters' are for packed weights, and the weight is not packed}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {filters = 3 : i64} : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>) -> tensor<1x6x9x9xi32>
  return
}

// -----

func.func @conv_negative_filters(%x: tensor<1x9x9x4xui8>, %w: tensor<640xi8>) {
  // expected-error @+1 {{conv of 4 to -6 channels in 1 groups does not match the shape of the weight}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = quads, columns = 6, segments = 3, length = 12, panel = 16, zeroPoints = false> {filters = -6 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x4xui8>, tensor<640xi8>) -> tensor<1x9x9x6xi32>
  return
}

// -----

// 2^60 groups of 256 bytes: as many bytes as 64 bits count are none.
func.func @conv_many_groups(%x: tensor<1x9x9x2305843009213693952xui8>, %w: tensor<0xi8>) {
  // expected-error @+1 {{has panels that do not match the weight}}
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] panels <dot = pairs, columns = 2, segments = 1, length = 2, panel = 32, zeroPoints = true> {filters = 2305843009213693952 : i64, groups = 1152921504606846976 : i64, kernel = array<i64: 1, 1>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x2305843009213693952xui8>, tensor<0xi8>) -> tensor<1x9x9x2305843009213693952xi32>
  return
}
