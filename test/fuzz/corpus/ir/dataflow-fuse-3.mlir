// passes: dataflow-fuse
func.func @movement(%x: tensor<4x8xf32>, %table: tensor<9x4xf32>, %i: tensor<8xi64>) -> tensor<8x4xf32> {
  %0 = dataflow.transpose %x [1, 0] : tensor<4x8xf32>
  %1 = dataflow.gather %table, %i {axis = 0 : i64} : tensor<9x4xf32>, tensor<8xi64> -> tensor<8x4xf32>
  %2 = dataflow.binary add %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
