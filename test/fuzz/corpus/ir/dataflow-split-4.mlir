// passes: dataflow-split; dataflow-simplify
func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {dataflow.split = #dataflow.split<"output channels", 2>} : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
  %t = dataflow.unary tanh %y : tensor<1x4x8x8xf32>
  return %y, %t : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}
