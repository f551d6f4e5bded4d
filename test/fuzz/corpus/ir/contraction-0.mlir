// options: 0
func.func @winograd(%x: tensor<1x9x11x40xf32>, %w: tensor<6x40x3x3xf32>) {
  %0 = dataflow.pack_winograd_weight winograd4 %w {depth = 32 : i64, panel = 8 : i64} : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
  %1 = dataflow.conv %x, %0 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 1.0e-5 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}
