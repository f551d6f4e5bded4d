// passes: dataflow-assign-layout dot=quads
func.func @given(%a: tensor<3x64xf32>, %w: tensor<20x4x16xui8>, %s: tensor<20x4xf32>) -> tensor<3x20xf32> {
  %0 = dataflow.block_matmul %a, %w scales %s bits 8 block 16 : (tensor<3x64xf32>, tensor<20x4x16xui8>, tensor<20x4xf32>) -> tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}
