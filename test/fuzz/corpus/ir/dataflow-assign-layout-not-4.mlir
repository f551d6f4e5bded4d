// passes: dataflow-assign-layout
func.func @other_elements(%x: tensor<1x2x4x4xf64>, %a: tensor<4x8xi32>) -> (tensor<1x2x4x4xf64>, tensor<4x3xi32>) {
  %k = dataflow.constant dense<1.0> : tensor<2x2x1x1xf64>
  %w = dataflow.constant dense<1> : tensor<8x3xi32>
  %0 = dataflow.conv %x, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x2x4x4xf64>, tensor<2x2x1x1xf64> -> tensor<1x2x4x4xf64>
  %1 = dataflow.matmul %a, %w : tensor<4x8xi32>, tensor<8x3xi32>
  return %0, %1 : tensor<1x2x4x4xf64>, tensor<4x3xi32>
}
