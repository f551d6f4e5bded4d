// passes: dataflow-mark-positions; dataflow-train loss=mse accumulate=0; dataflow-pipeline ranks=2 microbatches=0
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
