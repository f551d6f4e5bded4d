// passes: dataflow-assign-layout conv=auto dynamic
func.func @deep(%x: tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>) -> tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>> {
  %w = dataflow.constant dense<1.0> : tensor<512x512x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>, tensor<512x512x3x3xf32> -> tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>
  return %0 : tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>
}
