// passes: dataflow-simplify
func.func @other_reader(%x: tensor<2x6x4xf32>, %y: tensor<2x4x1xf32>) -> (tensor<2x7x4xf32>, tensor<2x4x7xf32>) {
  %0 = dataflow.transpose %x [0, 2, 1] : tensor<2x6x4xf32>
  %1 = dataflow.concat %0, %y {axis = 2 : i64} : tensor<2x4x6xf32>, tensor<2x4x1xf32> -> tensor<2x4x7xf32>
  %2 = dataflow.transpose %1 [0, 2, 1] : tensor<2x4x7xf32>
  %3 = dataflow.unary exp %1 : tensor<2x4x7xf32>
  return %2, %3 : tensor<2x7x4xf32>, tensor<2x4x7xf32>
}
