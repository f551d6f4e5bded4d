// options: 3
func.func @products(%a: tensor<2x4x8xui8>, %b: tensor<8x6xi8>, %za: tensor<i32>, %zb: tensor<6xi32>, %rows: tensor<4x1xi32>) {
  %0 = dataflow.integer_matmul %a, %b : (tensor<2x4x8xui8>, tensor<8x6xi8>) -> tensor<2x4x6xi32>
  %1 = dataflow.integer_matmul %a less %za, %b less %zb : (tensor<2x4x8xui8>, tensor<8x6xi8>, tensor<i32>, tensor<6xi32>) -> tensor<2x4x6xi32>
  %2 = dataflow.pack_integer_rhs %b less %zb panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = true> : (tensor<8x6xi8>, tensor<6xi32>) -> tensor<256xi8>
  %3 = dataflow.integer_matmul %a less %rows, %2 panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = true> : (tensor<2x4x8xui8>, tensor<256xi8>, tensor<4x1xi32>) -> tensor<2x4x6xi32>
  return
}
