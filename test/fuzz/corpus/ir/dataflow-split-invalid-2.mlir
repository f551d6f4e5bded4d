// passes: dataflow-split
func.func @halo(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {dataflow.split = #dataflow.split<"spatial 0", 2>} : tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x8x8xf32>
  return %y : tensor<1x2x8x8xf32>
}
