// options: 0
func.func @zeros(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>, %z: tensor<6x2xui8>) {
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x2xui8>) -> tensor<3x6xf32>
  return
}
