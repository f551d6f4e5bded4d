// passes: dataflow-assign-layout dynamic
func.func @phases(%x: tensor<1x4x5x5xf32>, %w: tensor<4x6x4x4xf32>) -> tensor<1x6x10x10xf32> {
  %y = dataflow.conv_transpose %x, %w strides [2, 2] pads_low [1, 1] dilations [1, 1]
    : (tensor<1x4x5x5xf32>, tensor<4x6x4x4xf32>) -> tensor<1x6x10x10xf32>
  return %y : tensor<1x6x10x10xf32>
}
