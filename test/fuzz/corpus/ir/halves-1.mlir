// options: 0
func.func @products(%a: tensor<2x4x40xf16>, %w: tensor<40x6xf16>, %s: tensor<4x40xf32>, %v: tensor<40x6xf32>) {
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<40x6xf16>) -> tensor<4096xi8>
  %1 = dataflow.half_matmul %a, %0 panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<2x4x40xf16>, tensor<4096xi8>) -> tensor<2x4x6xf16>
  %2 = dataflow.pack_half_rhs %v panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<40x6xf32>) -> tensor<640xi8>
  %3 = dataflow.half_matmul %s, %2 panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<4x40xf32>, tensor<640xi8>) -> tensor<4x6xf32>
  return
}
