// passes: dataflow-differentiate
func.func @matmul(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %n: tensor<2xi64>) -> (tensor<4x2xf32>, tensor<4x3xf32>, tensor<2xi64>) {
  %0 = dataflow.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32>
  %1 = dataflow.unary exp %x : tensor<4x3xf32>
  return %0, %1, %n : tensor<4x2xf32>, tensor<4x3xf32>, tensor<2xi64>
}
