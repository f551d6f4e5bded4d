// options: 2
func.func @decisions(%x: tensor<8xf32>) {
  %0, %1 = dataflow.fused (%a = %x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>) attributes {dataflow.order = 2 : i64} {
    %2 = dataflow.constant dense<1.0> : tensor<8xf32>
    %3 = dataflow.binary add %a, %2 : tensor<8xf32>, tensor<8xf32>
    %4 = dataflow.unary is_nan %3 : tensor<8xf32>
    dataflow.yield %3, %4 : tensor<8xf32>, tensor<8xi1>
  }
  return
}
