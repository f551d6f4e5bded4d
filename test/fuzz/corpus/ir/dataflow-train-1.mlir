// passes: dataflow-train
func.func @segmenter(%x: tensor<2x3x4x4xf16> {dataflow.name = "labels"}) -> (tensor<2x3x4x4xf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x1x1xf16>
  %0 = dataflow.binary mul %x, %w : tensor<2x3x4x4xf16>, tensor<3x1x1xf16>
  %1 = dataflow.softmax %0 {axis = 1 : i64} : tensor<2x3x4x4xf16> -> tensor<2x3x4x4xf16>
  return %1 : tensor<2x3x4x4xf16>
}
