// passes: dataflow-differentiate
func.func @two_ways(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = dataflow.unary tanh %x : tensor<4xf64>
  %1 = dataflow.binary add %0, %x : tensor<4xf64>, tensor<4xf64>
  %2 = dataflow.binary add %1, %y : tensor<4xf64>, tensor<4xf64>
  return %2 : tensor<4xf64>
}
