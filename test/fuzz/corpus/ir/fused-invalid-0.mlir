// options: 7
func.func @second_result(%x: tensor<4x4xf32>) {
  %0, %1 = dataflow.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %2 = dataflow.matmul %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
    %3 = dataflow.unary relu %2 : tensor<4x4xf32>
    dataflow.yield %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return
}
