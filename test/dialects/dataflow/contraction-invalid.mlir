// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @depth(%a: tensor<4x8xf32>, %b: tensor<7x6xf32>) {
  // expected-error @+1 {{matmul contracts 8 elements of the left-hand side with 7 of the right-hand side, and both numbers must be equal}}
  %0 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<7x6xf32>
  return
}

// -----

func.func @rank(%a: tensor<8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{matmul operands have ranks 1 and 2, at least 2 is needed}}
  %0 = dataflow.matmul %a, %b : tensor<8xf32>, tensor<8x6xf32>
  return
}

// -----

func.func @batch(%a: tensor<2x4x8xf32>, %b: tensor<3x8x6xf32>) {
  // expected-error @+1 {{matmul batch dimensions do not broadcast to each other}}
  %0 = dataflow.matmul %a, %b : tensor<2x4x8xf32>, tensor<3x8x6xf32>
  return
}

// -----

func.func @elements(%a: tensor<4x8xf32>, %b: tensor<8x6xf16>) {
  // expected-error @+1 {{matmul operands have different element types}}
  %0 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf16>
  return
}

// -----

func.func @panels(%a: tensor<4x8xf32>, %b: tensor<3x8x4xf32>) {
  // expected-error @+1 {{shape of the packed operand does not match panels for 6 columns}}
  %0 = dataflow.matmul %a, %b packed 6 : tensor<4x8xf32>, tensor<3x8x4xf32>
  return
}

// -----

func.func @library(%a: tensor<4x8xf32>, %b: tensor<2x8x4xf32>) {
  // expected-error @+1 {{a library needs operands that are not packed}}
  %0 = dataflow.matmul %a, %b packed 6 {library = 64 : i64} : tensor<4x8xf32>, tensor<2x8x4xf32>
  return
}

// -----

func.func @scratch(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) {
  // expected-error @+1 {{the scratch memory of a library call must have at least 0 bytes, got}}
  %0 = dataflow.matmul %a, %b {library = -1 : i64} : tensor<4x8xf32>, tensor<8x6xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x4x9x9xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{conv of 4 to 6 channels in 1 groups does not match the shape of the weight}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x4x9x9xf32>, tensor<6x3x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @conv_unknown(%x: tensor<1x2x?x9xf32>, %w: tensor<2x2x3x3xf32>) {
  // expected-error @+1 {{has an operand or a result with an unknown extent, give every dimension a size}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x2x?x9xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x?x9xf32>
  return
}

// -----

func.func @reach(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{conv kernel reaches over 11 elements of spatial dimension 1, and the padded input has only 9 elements there}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 5] : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{strides and dilations need one entry and pads two for each of the 2 spatial dimensions}}
  %0 = dataflow.conv %x, %w strides [1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @stride_zero(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{conv strides, dilations and kernel extents must be at least 1}}
  %0 = dataflow.conv %x, %w strides [1, 0] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @result(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{inferred type(s) 'tensor<1x6x7x7xf32>' are incompatible with return type(s) of operation 'tensor<1x6x9x9xf32>'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x9x9xf32>
  return
}

// -----

func.func @packed_layout(%x: tensor<1x4x9x9xf32>, %w: tensor<1x1x3x3x4x8xf32>) {
  // expected-error @+1 {{a packed weight needs a channels_last image}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {kernel = array<i64: 3, 3>, packed_channels = 6 : i64} : tensor<1x4x9x9xf32>, tensor<1x1x3x3x4x8xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @packed_order(%x: tensor<1x9x9x4xf32>, %w: tensor<1x1x3x3x4x8xf32>) {
  // expected-error @+1 {{a packed weight must not have 'weight_layout', because packing defines the order}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64, weight_layout = #dataflow<layout channels_last>} : tensor<1x9x9x4xf32>, tensor<1x1x3x3x4x8xf32> -> tensor<1x7x7x6xf32>
  return
}

// -----

func.func @packed_library(%x: tensor<1x9x9x4xf32>, %w: tensor<1x1x3x3x4x8xf32>) {
  // expected-error @+1 {{a library needs operands that are not packed}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, library = 0 : i64, packed_channels = 6 : i64} : tensor<1x9x9x4xf32>, tensor<1x1x3x3x4x8xf32> -> tensor<1x7x7x6xf32>
  return
}

// -----

func.func @conv_scratch(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{the scratch memory of a library call must have at least 0 bytes, got}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {library = -1 : i64} : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @weight_order(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{conv of 4 to 6 channels in 1 groups does not match the shape of the weight}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {weight_layout = #dataflow<layout channels_last>} : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @transposed_channels(%x: tensor<1x4x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // expected-error @+1 {{channels, groups and weight do not match, give a weight of C x M x extents for C input channels and M result channels in each group}}
  %0 = dataflow.conv_transpose %x, %w strides [1, 1] pads_low [0, 0] dilations [1, 1] : (tensor<1x4x5x5xf32>, tensor<3x2x3x3xf32>) -> tensor<1x2x7x7xf32>
  return
}

// -----

func.func @large_numbers(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{conv kernel, strides, pads or dilations do not fit 32 bits}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 9223372036854775807] : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x7x7xf32>
  return
}

// -----

func.func @winograd_plain(%x: tensor<1x40x9x11xf32>, %w: tensor<6x40x3x3xf32>) {
  // expected-error @+1 {{'algorithm' is for 3x3 convolutions of f32, f16 or bf16 images, of stride 1, dilation 1 and one group, with packed weights}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>} : tensor<1x40x9x11xf32>, tensor<6x40x3x3xf32> -> tensor<1x6x9x11xf32>
  return
}

// -----

func.func @winograd_strides(%x: tensor<1x9x11x40xf32>, %w: tensor<2x1x36x32x8xf32>) {
  // expected-error @+1 {{'algorithm' is for 3x3 convolutions of f32, f16 or bf16 images, of stride 1, dilation 1 and one group, with packed weights}}
  %0 = dataflow.conv %x, %w strides [2, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x5x11x6xf32>
  return
}

// -----

func.func @winograd_half(%x: tensor<1x9x11x40xf16>, %w: tensor<2x1x36x32x8xf16>) {
  // expected-error @+1 {{conv by Winograd's algorithm has weights of 'f16', transform them to f32}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf16>, tensor<2x1x36x32x8xf16> -> tensor<1x9x11x6xf16>
  return
}

// -----

func.func @winograd_points(%x: tensor<1x9x11x40xf32>, %w: tensor<2x1x36x32x8xf32>) {
  // expected-error @+1 {{packed weight does not match 40 to 6 channels by 'winograd2'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd2>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @winograd_depth(%x: tensor<1x9x11x40xf32>, %w: tensor<1x1x36x32x8xf32>) {
  // expected-error @+1 {{packed weight does not match 40 to 6 channels by 'winograd4'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<1x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @winograd_panel(%x: tensor<1x9x11x40xf32>, %w: tensor<2x2x36x32x8xf32>) {
  // expected-error @+1 {{packed weight does not match 40 to 6 channels by 'winograd4'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x2x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @winograd_large(%x: tensor<1x9x11x40xf32>, %w: tensor<1x1x36x40x4096xf32>) {
  // expected-error @+1 {{packed weight does not match 40 to 6 channels by 'winograd4'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<1x1x36x40x4096xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @winograd_bound(%x: tensor<1x9x11x40xf32>, %w: tensor<2x1x36x32x8xf32>) {
  // expected-error @+1 {{'error_bound' must be a positive, finite number, and is allowed only with Winograd's 'algorithm'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 0.0 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @bound_of_nothing(%x: tensor<1x40x9x11xf32>, %w: tensor<6x40x3x3xf32>) {
  // expected-error @+1 {{'error_bound' must be a positive, finite number, and is allowed only with Winograd's 'algorithm'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {error_bound = 1.0e-5 : f64} : tensor<1x40x9x11xf32>, tensor<6x40x3x3xf32> -> tensor<1x6x9x11xf32>
  return
}

// -----

func.func @filters_of_five(%w: tensor<6x40x5x5xf32>) {
  // expected-error @+1 {{must transform [M, C, 3, 3] weights}}
  %0 = dataflow.pack_winograd_weight winograd4 %w {depth = 32 : i64, panel = 8 : i64} : tensor<6x40x5x5xf32> -> tensor<2x1x36x32x8xf32>
  return
}

// -----

func.func @filters_of_no_depth(%w: tensor<6x40x3x3xf32>) {
  // expected-error @+1 {{must transform weights in blocks of a depth from 1 to 256 and a panel from 1 to 2048}}
  %0 = dataflow.pack_winograd_weight winograd4 %w {depth = 0 : i64, panel = 8 : i64} : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
  return
}

// -----

func.func @filters_of_much_depth(%w: tensor<6x40x3x3xf32>) {
  // expected-error @+1 {{must transform weights in blocks of a depth from 1 to 256 and a panel from 1 to 2048}}
  %0 = dataflow.pack_winograd_weight winograd4 %w {depth = 257 : i64, panel = 8 : i64} : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
  return
}

// -----

func.func @winograd_without_kernel(%x: tensor<1x9x11x40xf32>, %w: tensor<f32>) {
  // expected-error @+1 {{a packed weight needs the 'kernel' attribute}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<f32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @winograd_of_numbers(%x: tensor<f32>, %w: tensor<f32>) {
  // expected-error @+1 {{conv of input rank 0 and weight rank 0}}
  %0 = dataflow.conv %x, %w strides [] pads [] dilations [] {algorithm = #dataflow<conv_algorithm winograd4>} : tensor<f32>, tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @winograd_bound_of_infinity(%x: tensor<1x9x11x40xf32>, %w: tensor<2x1x36x32x8xf32>) {
  // expected-error @+1 {{'error_bound' must be a positive, finite number, and is allowed only with Winograd's 'algorithm'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 0x7FF0000000000000 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @kernel_of_plain_weight(%x: tensor<1x4x9x11xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{has 'kernel' and a weight that is not packed, remove 'kernel' or set 'packed_channels'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 1, 1>} : tensor<1x4x9x11xf32>, tensor<6x4x3x3xf32> -> tensor<1x6x9x11xf32>
  return
}

// -----

func.func @packed_rank(%x: tensor<1x9x11x4xf32>, %w: tensor<f32>) {
  // expected-error @+1 {{packed weight does not match 4 to 6 channels}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x4xf32>, tensor<f32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @packed_taps(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x1x3x4x8xf32>) {
  // expected-error @+1 {{packed weight does not match 4 to 6 channels}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x1x3x4x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @packed_depthwise(%x: tensor<1x9x11x6xf32>, %w: tensor<3x3x4xf32>) {
  // expected-error @+1 {{packed weight does not match 6 to 6 channels}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 6 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x6xf32>, tensor<3x3x4xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

func.func @packed_negative(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x3x3x4x8xf32>) {
  // expected-error @+1 {{conv of 4 to -6 channels in 1 groups does not match the shape of the weight}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = -6 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x3x3x4x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// -----

// A block is counted without wrapping around: one has all columns.
func.func @large_block(%w: tensor<4x6xf32>) {
  // expected-error @+1 {{inferred type(s) 'tensor<1x4x9223372036854775807xf32>' are incompatible}}
  %0 = dataflow.pack_matmul_rhs %w {block = 9223372036854775807 : i64} : tensor<4x6xf32> -> tensor<0x4x9223372036854775807xf32>
  return
}

// -----

func.func @large_conv_block(%w: tensor<6x1x3x3xf32>) {
  // expected-error @+1 {{inferred type(s) 'tensor<3x3x9223372036854775807xf32>' are incompatible}}
  %0 = dataflow.pack_conv_weight %w {block = 9223372036854775807 : i64, depthwise, groups = 6 : i64} : tensor<6x1x3x3xf32> -> tensor<3x3x0xf32>
  return
}

// -----

func.func @shift_add_plain(%x: tensor<1x4x9x11xf32>, %w: tensor<3x4x3x3xf32>) {
  // expected-error @+1 {{'algorithm' shift_add needs packed weights, one group and stride 1 along the width}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm shift_add>} : tensor<1x4x9x11xf32>, tensor<3x4x3x3xf32> -> tensor<1x3x9x11xf32>
  return
}

// -----

func.func @shift_add_strides(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x3x1x4x16xf32>) {
  // expected-error @+1 {{'algorithm' shift_add needs packed weights, one group and stride 1 along the width}}
  %0 = dataflow.conv %x, %w strides [1, 2] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm shift_add>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 3 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x3x1x4x16xf32> -> tensor<1x9x6x3xf32>
  return
}

// -----

func.func @shift_add_weight(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x3x3x4x4xf32>) {
  // expected-error @+1 {{packed weight does not have the shape for 'algorithm' shift_add, in which each tap of a kernel row has channels of its own}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm shift_add>, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 3 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x3x3x4x4xf32> -> tensor<1x9x11x3xf32>
  return
}

// -----

func.func @shift_add_bound(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x3x1x4x16xf32>) {
  // expected-error @+1 {{'error_bound' must be a positive, finite number, and is allowed only with Winograd's 'algorithm'}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm shift_add>, error_bound = 1.0 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 3 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x3x1x4x16xf32> -> tensor<1x9x11x3xf32>
  return
}

// -----

func.func @packed_integers(%x: tensor<4x8xi32>, %p: tensor<1x8x8xi32>) {
  // expected-error @+1 {{a packed operand must hold floats}}
  %0 = dataflow.matmul %x, %p packed 6 : tensor<4x8xi32>, tensor<1x8x8xi32>
  return
}

// -----

func.func @small_floats(%x: tensor<3x3xf8E4M3FN>) {
  // expected-error @+1 {{is not defined on floats of 8 bits or less, cast its operands}}
  %0 = dataflow.matmul %x, %x : tensor<3x3xf8E4M3FN>, tensor<3x3xf8E4M3FN>
  return
}

// -----

func.func @small_images(%x: tensor<1x2x4x4xf4E2M1FN>, %w: tensor<2x2x3x3xf4E2M1FN>) {
  // expected-error @+1 {{is not defined on floats of 8 bits or less, cast its operands}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x2x4x4xf4E2M1FN>, tensor<2x2x3x3xf4E2M1FN> -> tensor<1x2x4x4xf4E2M1FN>
  return
}
