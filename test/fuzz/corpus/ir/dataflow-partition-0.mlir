// passes: dataflow-simplify
func.func @alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
