// options: 4
func.func @math(%x: tensor<64xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.fused (%a0 = %x : tensor<64xf32>) -> (tensor<64xf32>) {
    %1 = dataflow.unary sqrt %a0 : tensor<64xf32>
    %2 = dataflow.unary sin %1 : tensor<64xf32>
    dataflow.yield %2 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
