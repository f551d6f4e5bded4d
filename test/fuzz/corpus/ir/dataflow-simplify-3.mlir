// passes: dataflow-simplify
func.func @large_weight(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32> {
  %weight = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %c = dataflow.constant dense<2.0> : tensor<64x1x1xf32>
  %0 = dataflow.conv %x, %weight strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x8x8xf32>
  %1 = dataflow.binary mul %c, %0 : tensor<64x1x1xf32>, tensor<1x64x8x8xf32>
  return %1 : tensor<1x64x8x8xf32>
}
