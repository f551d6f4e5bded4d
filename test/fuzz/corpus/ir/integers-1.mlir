// options: 4
func.func @convolutions(%x: tensor<1x4x9x9xui8>, %w: tensor<6x4x3x3xi8>, %last: tensor<1x9x9x4xui8>, %m: tensor<1x36x6xi8>, %zx: tensor<i32>, %zw: tensor<6xi32>) {
  %0 = dataflow.integer_conv %x less %zx, %w less %zw strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<i32>, tensor<6xi32>) -> tensor<1x6x9x9xi32>
  %1 = dataflow.pack_integer_rhs %m panels <dot = pairs, columns = 6, segments = 3, length = 12, panel = 8, zeroPoints = false> : (tensor<1x36x6xi8>) -> tensor<320xi8>
  %2 = dataflow.integer_conv %last, %1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = pairs, columns = 6, segments = 3, length = 12, panel = 8, zeroPoints = false> {filters = 6 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x4xui8>, tensor<320xi8>) -> tensor<1x9x9x6xi32>
  return
}
