// options: 127
func.func @classifier(%x: tensor<8x1x4xf32> {dataflow.name = "x"}) -> (tensor<8x1x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "€" trainable dense<0.5> : tensor<4xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x1x4xf32>, tensor<4xf32>
  return %0 : tensor<8x1x4xf32>
}
