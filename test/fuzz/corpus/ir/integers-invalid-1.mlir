// options: 1
func.func @conv_negative_filters(%x: tensor<1x9x9x4xui8>, %w: tensor<640xi8>) {
  %0 = dataflow.integer_conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = quads, columns = 6, segments = 3, length = 12, panel = 16, zeroPoints = false> {filters = -6 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x4xui8>, tensor<640xi8>) -> tensor<1x9x9x6xi32>
  return
}
