// passes: dataflow-train loss=mse optimizer=adam
func.func @half(%x: tensor<8x4xf16> {dataflow.name = "x"}) -> (tensor<8x4xf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf16>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf16>, tensor<4xf16>
  return %0 : tensor<8x4xf16>
}
