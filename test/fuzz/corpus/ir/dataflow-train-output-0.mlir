// passes: dataflow-train loss=output output=cost
func.func @main(%x: tensor<4x3xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}, tensor<1x1xf32> {dataflow.name = "cost"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4x1xf32>
  %0 = dataflow.binary mul %x, %w : tensor<4x3xf32>, tensor<4x1xf32>
  %1 = dataflow.reduce sum_square %0 axes [0, 1] {keep_dims = true} : tensor<4x3xf32> -> tensor<1x1xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<1x1xf32>
}
