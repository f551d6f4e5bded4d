// passes: dataflow-simplify
func.func @trained_weight(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = dataflow.state "w" trainable dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<10.0> : tensor<f32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<f32>
  return %1 : tensor<4x2xf32>
}
