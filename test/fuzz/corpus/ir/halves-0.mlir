// options: 7
func.func @convolution(%x: tensor<1x9x9x40xbf16>, %w: tensor<360x16xbf16>) {
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 1, columns = 16, segments = 9, length = 40, panel = 16> : (tensor<360x16xbf16>) -> tensor<18432xi8>
  %1 = dataflow.half_conv %x, %0 kernel [3, 3] strides [2, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 1, columns = 16, segments = 9, length = 40, panel = 16> : (tensor<1x9x9x40xbf16>, tensor<18432xi8>) -> tensor<1x5x9x16xbf16>
  return
}
