// passes: dataflow-assign-layout dynamic
func.func @trained(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<16x3x3x3xf32>
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
    : tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32> -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}
