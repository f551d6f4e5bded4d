// passes: dataflow-fuse
func.func @embeddings(%words: tensor<9x4xf32>, %ids: tensor<2x3xi64>, %places: tensor<8x4xf32>, %order: tensor<8xi64>)
    -> tensor<2x3x4xf32> {
  %0 = dataflow.slice %order from [2] by [1] : tensor<8xi64> -> tensor<3xi64>
  %1 = dataflow.gather %places, %0 {axis = 0 : i64} : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %2 = dataflow.gather %words, %ids {axis = 0 : i64} : tensor<9x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  %3 = dataflow.binary add %2, %1 : tensor<2x3x4xf32>, tensor<3x4xf32>
  return %3 : tensor<2x3x4xf32>
}
