func.func @product(%x: tensor<48x512xf32>) -> tensor<48x96xf32> {
  %w = dataflow.constant dense<0.013> : tensor<512x96xf32>
  %0 = dataflow.matmul %x, %w : tensor<48x512xf32>, tensor<512x96xf32>
  return %0 : tensor<48x96xf32>
}
