// options: 3
func.func @groups(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %bias: tensor<6xf32>) -> tensor<4x6xf32> {
  %0 = dataflow.fused (%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x6xf32>, %c = %bias : tensor<6xf32>) -> (tensor<4x6xf32>) {
    %1 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
    %2 = dataflow.binary add %1, %c : tensor<4x6xf32>, tensor<6xf32>
    %3 = dataflow.unary relu %2 : tensor<4x6xf32>
    dataflow.yield %3 : tensor<4x6xf32>
  }
  return %0 : tensor<4x6xf32>
}
