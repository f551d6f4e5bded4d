// options: 7
func.func @winograd_bound_of_infinity(%x: tensor<1x9x11x40xf32>, %w: tensor<2x1x36x32x8xf32>) {
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 0x7FF0000000000000 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}
