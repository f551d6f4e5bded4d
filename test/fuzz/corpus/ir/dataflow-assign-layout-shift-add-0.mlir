// passes: dataflow-assign-layout conv=auto
func.func @last_layer(%x: tensor<1x32x64x64xf32>) -> tensor<1x3x64x64xf32> {
  %w = dataflow.constant dense<0.5> : tensor<3x32x9x9xf32>
  %y = dataflow.conv %x, %w strides [1, 1] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x64x64xf32>
  return %y : tensor<1x3x64x64xf32>
}
