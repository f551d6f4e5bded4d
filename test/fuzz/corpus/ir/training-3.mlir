// options: 3
func.func @conv_weight(%x: tensor<4x4x9x8xf32>, %g: tensor<4x6x5x8xf32>, %series: tensor<2x3x7xf16>, %h: tensor<2x3x3xf16>) {
  %0 = dataflow.conv_weight_gradient %x, %g strides [2, 1] pads_low [1, 2] dilations [1, 2] {groups = 2 : i64} : (tensor<4x4x9x8xf32>, tensor<4x6x5x8xf32>) -> tensor<6x2x3x3xf32>
  %1 = dataflow.conv_weight_gradient %series, %h strides [2] pads_low [-1] dilations [1] : (tensor<2x3x7xf16>, tensor<2x3x3xf16>) -> tensor<3x3x1xf16>
  return
}
