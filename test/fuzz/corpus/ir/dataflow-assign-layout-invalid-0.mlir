// passes: dataflow-assign-layout lanes=many
func.func @weights(%x: tensor<4x8xf32>) -> tensor<4x40xf32> {
  %w = dataflow.constant dense<1.0> : tensor<8x40xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x8xf32>, tensor<8x40xf32>
  return %0 : tensor<4x40xf32>
}
