// options: 5
func.func @computed(%x: tensor<8x512xf32>, %w: tensor<512x100xf32>) -> tensor<8x100xf32> {
  %0 = dataflow.matmul %x, %w : tensor<8x512xf32>, tensor<512x100xf32>
  return %0 : tensor<8x100xf32>
}
