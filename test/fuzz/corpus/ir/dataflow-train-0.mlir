// passes: dataflow-train
func.func @classifier(%x: tensor<8x3xf32> {dataflow.name = "x"}) -> (tensor<8x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x4xf32>
  %0 = dataflow.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32> loc("classify")
  return %0 : tensor<8x4xf32>
}
