// passes: dataflow-mark-positions; dataflow-train loss=mse accumulate=0 lr=0.5; dataflow-pipeline rank=0 ranks=2 microbatches=1
func.func @average(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x2xf32> {dataflow.name = "y"}, tensor<3x2xf32> {dataflow.updates = "average"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %b = dataflow.state "b" trainable dense<0.25> : tensor<3x2xf32>
  %e = dataflow.state "average" dense<0.0> : tensor<3x2xf32>
  %half = dataflow.constant dense<0.5> : tensor<f32>
  %n0 = dataflow.binary mul %e, %half : tensor<3x2xf32>, tensor<f32>
  %n1 = dataflow.binary add %n0, %b : tensor<3x2xf32>, tensor<3x2xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  %1 = dataflow.unary relu %0 : tensor<4x3xf32>
  %2 = dataflow.matmul %1, %b : tensor<4x3xf32>, tensor<3x2xf32>
  return %2, %n1 : tensor<4x2xf32>, tensor<3x2xf32>
}
