// passes: dataflow-assign-layout half=tiles
func.func @vector(%a: tensor<1x100xbf16>, %b: tensor<1x100xf32>) -> (tensor<1x50xbf16>, tensor<1x50xf32>) {
  %bf16 = dataflow.constant dense<3.0> : tensor<100x50xbf16>
  %f32 = dataflow.constant dense<3.0> : tensor<100x50xf32>
  %0 = dataflow.matmul %a, %bf16 : tensor<1x100xbf16>, tensor<100x50xbf16>
  %1 = dataflow.matmul %b, %f32 : tensor<1x100xf32>, tensor<100x50xf32>
  return %0, %1 : tensor<1x50xbf16>, tensor<1x50xf32>
}
