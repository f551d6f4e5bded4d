// options: 1
func.func @scale(%x: tensor<2x3xf32>, %s: tensor<4xf32>) {
  %0 = dataflow.layer_norm %x, %s {axis = 1 : i64, epsilon = 0.0 : f64} : tensor<2x3xf32>, tensor<4xf32> -> tensor<2x3xf32>
  return
}
