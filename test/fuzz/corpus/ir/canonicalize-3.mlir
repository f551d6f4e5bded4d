// options: 0
func.func @shuffle_ranges(%x: tensor<9x5x7x12xf32, #images>) -> tensor<9x5x7x12xf32, #images> {
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<9x5x7x12xf32, #images>
  %1 = dataflow.reshape %0 : tensor<9x12x5x7xf32, #first> -> tensor<9x4x3x5x7xf32, #groups>
  %2 = dataflow.transpose %1 [0, 2, 1, 3, 4] : tensor<9x4x3x5x7xf32, #groups>
  %3 = dataflow.reshape %2 : tensor<9x3x4x5x7xf32, #shuffled> -> tensor<9x12x5x7xf32, #first>
  %4 = dataflow.transpose %3 [0, 2, 3, 1] : tensor<9x12x5x7xf32, #first>
  return %4 : tensor<9x5x7x12xf32, #images>
}
