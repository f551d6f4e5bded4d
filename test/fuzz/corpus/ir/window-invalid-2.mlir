// options: 5
func.func @large_numbers(%x: tensor<1x2x9x10xf32>) {
  %0 = dataflow.pool max %x kernel [3, 3] strides [2, 9223372036854775807] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x2x9x10xf32> -> tensor<1x2x5x5xf32>
  return
}
