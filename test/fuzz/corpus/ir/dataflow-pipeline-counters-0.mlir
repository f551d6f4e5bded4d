// passes: dataflow-mark-positions; dataflow-train loss=mse accumulate=0 lr=0.5; dataflow-pipeline rank=0 ranks=2 microbatches=1
func.func @norm(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}, tensor<f32> {dataflow.updates = "norm"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %e = dataflow.state "norm" dense<1.0> : tensor<f32>
  %n1 = dataflow.reduce mean %a axes [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n2 = dataflow.binary add %e, %n1 : tensor<f32>, tensor<f32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %q = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  %2 = dataflow.binary mul %q, %e : tensor<4x2xf32>, tensor<f32>
  return %2, %n2 : tensor<4x2xf32>, tensor<f32>
}
