// options: 5
func.func @other_channels(%x: tensor<4x3xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>) {
  %y:3 = dataflow.batch_norm_train %x, %c, %d {epsilon = 1.0e-5} : tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32> -> tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
  return
}
