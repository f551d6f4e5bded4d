// passes: dataflow-assign-layout conv=auto dynamic
func.func @batch(%x: tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>) -> tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>, tensor<64x64x3x3xf32> -> tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>
  return %0 : tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>
}
