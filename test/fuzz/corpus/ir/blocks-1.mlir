// options: 3
func.func @packed(%a: tensor<3x40xf32>, %w: tensor<6x2x16xui8>, %s: tensor<6x2xf32>, %z: tensor<6x1xui8>) {
  %0 = dataflow.pack_blocks %w scales %s less %z panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<6x2x16xui8>, tensor<6x2xf32>, tensor<6x1xui8>) -> tensor<336xi8>
  %1 = dataflow.packed_block_matmul %a, %0 panels <bits = 4, block = 32, columns = 6, depth = 40, panel = 8, scale = f32, zeros = bytes> : (tensor<3x40xf32>, tensor<336xi8>) -> tensor<3x6xf32>
  return
}
