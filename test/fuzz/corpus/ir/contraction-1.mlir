// options: 1
func.func @products(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<5x1x4x8xf32>, %d: tensor<3x6x8xf32>) {
  %0 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
  %1 = dataflow.matmul %c, %d transposed : tensor<5x1x4x8xf32>, tensor<3x6x8xf32>
  %2 = dataflow.unary relu %1 : tensor<5x3x4x6xf32>
  %3 = dataflow.matmul %a transposed, %0 : tensor<4x8xf32>, tensor<4x6xf32>
  %4 = dataflow.pack_matmul_rhs %d transposed {block = 4 : i64} : tensor<3x6x8xf32> -> tensor<3x2x8x4xf32>
  %5 = dataflow.matmul %c, %4 packed 6 : tensor<5x1x4x8xf32>, tensor<3x2x8x4xf32>
  return
}
