// options: 6
func.func @windows(%x: tensor<1x2x9x10xf32>, %last: tensor<1x9x10x2xf32>) {
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  %1 = dataflow.pool average %last kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] {count_include_pad = true, layout = #dataflow<layout channels_last>} : tensor<1x9x10x2xf32> -> tensor<1x5x6x2xf32>
  %2 = dataflow.pool lp %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] {p = 3 : i64} : tensor<1x2x9x10xf32> -> tensor<1x2x4x5xf32>
  %3 = dataflow.resize linear %x scales [1.0, 1.0, 2.0, 0.5] half_pixel floor : tensor<1x2x9x10xf32> -> tensor<1x2x18x5xf32>
  %4 = dataflow.lrn %x {alpha = 0.0001 : f64, beta = 0.75 : f64, bias = 1.0 : f64, size = 5 : i64} : tensor<1x2x9x10xf32> -> tensor<1x2x9x10xf32>
  return
}
