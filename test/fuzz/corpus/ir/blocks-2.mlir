// options: 4
func.func @products(%a: tensor<3x40xf32>, %b: tensor<2x3x40xf16>, %w: tensor<6x2x16xui8>, %v: tensor<6x3x8xui8>, %s: tensor<6x2xf32>, %t: tensor<6x3xf16>, %z: tensor<6x1xui8>, %y: tensor<6x3xf16>) {
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<3x6xf32>
  %1 = dataflow.block_matmul %b, %v scales %t less %y bits 4 block 16 : (tensor<2x3x40xf16>, tensor<6x3x8xui8>, tensor<6x3xf16>, tensor<6x3xf16>) -> tensor<2x3x6xf16>
  %2 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<3x40xf32>, tensor<6x2x16xui8>, tensor<6x2xf32>) -> tensor<3x6xf32>
  return
}
