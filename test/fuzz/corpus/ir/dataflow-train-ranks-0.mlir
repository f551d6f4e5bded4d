// passes: dataflow-train loss=mse accumulate=0
func.func @product(%x: tensor<1xf16> {dataflow.name = "x"}) -> (tensor<1xf16> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<1xf16>
  %b = dataflow.state "b" trainable dense<2.0> : tensor<1xf16>
  %0 = dataflow.binary mul %a, %b : tensor<1xf16>, tensor<1xf16>
  return %0 : tensor<1xf16>
}
