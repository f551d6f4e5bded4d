// passes: dataflow-assign-layout conv=auto
func.func @halves(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<1x64x56x56xf16>
  return %0 : tensor<1x64x56x56xf16>
}
