// options: 4
func.func @batch(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<3x7x4xf32>) {
  %0 = dataflow.attention %q, %k, %v : (tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<3x7x4xf32>) -> tensor<2x5x4xf32>
  return
}
