// passes: dataflow-assign-layout dot=quads
func.func @constant(%a: tensor<2x5x2048xf32>) -> tensor<2x5x300xf32> {
  %w = dataflow.constant dense<7> : tensor<300x64x16xui8>
  %s = dataflow.constant dense<0.5> : tensor<300x64xf32>
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<2x5x2048xf32>, tensor<300x64x16xui8>, tensor<300x64xf32>) -> tensor<2x5x300xf32>
  return %0 : tensor<2x5x300xf32>
}
