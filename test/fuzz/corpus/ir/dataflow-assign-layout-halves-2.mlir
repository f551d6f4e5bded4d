// passes: dataflow-assign-layout half=tiles
func.func @small(%a: tensor<7x100xf16>, %b: tensor<40x4xf16>, %c: tensor<40x100xf16>, %d: tensor<100x50xf16>) -> (tensor<7x50xf16>, tensor<40x50xf16>, tensor<40x3xf16>, tensor<40x50xf16>) {
  %wide = dataflow.constant dense<3.0> : tensor<100x50xf16>
  %short = dataflow.constant dense<3.0> : tensor<4x50xf16>
  %narrow = dataflow.constant dense<3.0> : tensor<100x3xf16>
  %0 = dataflow.matmul %a, %wide : tensor<7x100xf16>, tensor<100x50xf16>
  %1 = dataflow.matmul %b, %short : tensor<40x4xf16>, tensor<4x50xf16>
  %2 = dataflow.matmul %c, %narrow : tensor<40x100xf16>, tensor<100x3xf16>
  %3 = dataflow.matmul %c, %d : tensor<40x100xf16>, tensor<100x50xf16>
  return %0, %1, %2, %3 : tensor<7x50xf16>, tensor<40x50xf16>, tensor<40x3xf16>, tensor<40x50xf16>
}
