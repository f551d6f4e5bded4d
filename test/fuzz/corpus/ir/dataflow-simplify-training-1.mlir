// passes: dataflow-simplify
func.func @by_the_batch(%x: tensor<4x3x5xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y:3 = dataflow.batch_norm_train %x, %s, %b {epsilon = 1.0e-5} : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
  return %y#0, %y#1, %y#2 : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
}
