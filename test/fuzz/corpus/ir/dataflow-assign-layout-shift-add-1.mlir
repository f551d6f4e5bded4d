// passes: dataflow-assign-layout conv=auto
func.func @strides(%x: tensor<1x32x64x64xf32>) -> (tensor<1x3x32x64xf32>, tensor<1x3x64x32xf32>, tensor<1x16x64x64xf32>) {
  %w = dataflow.constant dense<0.5> : tensor<3x32x9x9xf32>
  %v = dataflow.constant dense<0.5> : tensor<16x32x5x5xf32>
  %a = dataflow.conv %x, %w strides [2, 1] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x32x64xf32>
  %b = dataflow.conv %x, %w strides [1, 2] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x64x32xf32>
  %c = dataflow.conv %x, %v strides [1, 1] pads [2, 2, 2, 2] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<16x32x5x5xf32> -> tensor<1x16x64x64xf32>
  return %a, %b, %c : tensor<1x3x32x64xf32>, tensor<1x3x64x32xf32>, tensor<1x16x64x64xf32>
}
