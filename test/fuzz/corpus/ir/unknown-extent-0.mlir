// passes: dataflow-assign-layout conv=auto
func.func @large(%x: tensor<1x64x?x56xf32>) -> tensor<1x64x?x56xf32> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x?x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x?x56xf32>
  return %0 : tensor<1x64x?x56xf32>
}
