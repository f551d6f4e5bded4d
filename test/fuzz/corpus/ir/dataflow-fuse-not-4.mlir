// passes: dataflow-fuse
func.func @used_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = dataflow.unary exp %x : tensor<4xf32>
  %1 = dataflow.unary relu %0 : tensor<4xf32>
  %2 = dataflow.unary neg %0 : tensor<4xf32>
  %3 = dataflow.binary add %1, %1 : tensor<4xf32>, tensor<4xf32>
  %4 = dataflow.unary abs %3 : tensor<4xf32>
  return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
