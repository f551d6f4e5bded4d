// passes: dataflow-prune parts=4 layers=fc
func.func @small(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  %w = dataflow.constant dense<1.0> : tensor<4x3xf32>
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x3xf32> loc("fc")
  return %y : tensor<3x3xf32>
}
