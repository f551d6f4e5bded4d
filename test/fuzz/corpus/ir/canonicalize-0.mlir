// options: 5
func.func @around_ranges(%x: tensor<1x9x1x5xf32, #one>) -> tensor<1x1x9x5xf32, #four> {
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x9x1x5xf32, #one>
  %1 = dataflow.reshape %0 : tensor<1x5x9x1xf32, #two> -> tensor<1x1x5x9xf32, #three>
  %2 = dataflow.transpose %1 [0, 1, 3, 2] : tensor<1x1x5x9xf32, #three>
  return %2 : tensor<1x1x9x5xf32, #four>
}
