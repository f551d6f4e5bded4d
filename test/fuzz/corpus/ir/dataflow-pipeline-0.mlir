// passes: dataflow-mark-positions; dataflow-train loss=mse accumulate=0 lr=0.5; dataflow-pipeline rank=0 ranks=2 microbatches=3
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %2 = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  return %2 : tensor<4x2xf32>
}
