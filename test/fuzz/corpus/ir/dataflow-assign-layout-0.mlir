// passes: dataflow-assign-layout
func.func @signal(%x: tensor<2x4x16xf32>) -> tensor<2x16x8xf32> {
  %w = dataflow.constant dense<1.0> : tensor<16x4x3xf32>
  %0 = dataflow.conv %x, %w strides [2] pads [1, 1] dilations [1] : tensor<2x4x16xf32>, tensor<16x4x3xf32> -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}
