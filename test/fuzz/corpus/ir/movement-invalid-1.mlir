// options: 3
func.func @update_shape(%d: tensor<5x7xf32>, %i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  %0 = dataflow.scatter_nd none %d, %i, %u : tensor<5x7xf32>, tensor<4x1xi64>, tensor<4xf32> -> tensor<5x7xf32>
  return
}
