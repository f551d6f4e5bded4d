// passes: dataflow-assign-layout
func.func @weights_of_inputs(%x: tensor<1x8x6x5xf32>, %k: tensor<16x8x3x3xf32>, %a: tensor<4x8xf32>, %w: tensor<8x40xf32>) -> (tensor<1x16x6x5xf32>, tensor<4x40xf32>) {
  %0 = dataflow.conv %x, %k strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x8x6x5xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x6x5xf32>
  %1 = dataflow.matmul %a, %w : tensor<4x8xf32>, tensor<8x40xf32>
  return %0, %1 : tensor<1x16x6x5xf32>, tensor<4x40xf32>
}
