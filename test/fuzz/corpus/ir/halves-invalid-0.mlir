// options: 4
func.func @padded(%w: tensor<134217728x1073741824xf16>) {
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 2, columns = 1073741824, segments = 134217728, length = 1, panel = 16> : (tensor<134217728x1073741824xf16>) -> tensor<0xi8>
  return
}
