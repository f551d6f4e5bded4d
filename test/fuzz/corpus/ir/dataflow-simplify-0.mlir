// passes: dataflow-simplify
func.func @batch_norm_of_inputs(%x: tensor<3x2xf32>, %p: tensor<2xf32>) -> tensor<3x2xf32> {
  %0 = dataflow.batch_norm %x, %p, %p, %p, %p {epsilon = 0.25 : f64} : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
