// options: 1
func.func @functions(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %mask: tensor<2x1xi1>, %i: tensor<4xui8>) {
  %0 = dataflow.unary relu %x : tensor<2x3xf32>
  %1 = dataflow.unary leaky_relu %0 {alpha = 0.1 : f64} : tensor<2x3xf32>
  %2 = dataflow.unary is_nan %1 : tensor<2x3xf32>
  %3 = dataflow.unary logical_not %2 : tensor<2x3xi1>
  %4 = dataflow.unary bitwise_not %i : tensor<4xui8>
  %5 = dataflow.binary add %x, %row : tensor<2x3xf32>, tensor<3xf32>
  %6 = dataflow.compare lt %5, %row : tensor<2x3xf32>, tensor<3xf32>
  %7 = dataflow.select %mask, %x, %row : tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>
  %8 = dataflow.cast %7 : tensor<2x3xf32> -> tensor<2x3xbf16>
  %9 = dataflow.cast %8 saturate : tensor<2x3xbf16> -> tensor<2x3xi8>
  %10 = dataflow.copy %x : tensor<2x3xf32>
  return
}
