// passes: dataflow-split; dataflow-simplify
func.func @contraction(%x: tensor<2x6xf16>, %w: tensor<6x4xf16>) -> tensor<2x4xf16> {
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"contraction", 3>} : tensor<2x6xf16>, tensor<6x4xf16>
  return %y : tensor<2x4xf16>
}
