// options: 7
func.func @indexed(%d: tensor<5x7xf32>, %i: tensor<3x7xi64>, %t: tensor<4x2xi64>, %u: tensor<3x7xf32>, %w: tensor<4xf32>, %v: tensor<2xf32>) {
  %0 = dataflow.gather %d, %i {axis = 1 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<5x3x7xf32>
  %1 = dataflow.gather_elements %d, %i {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<3x7xf32>
  %2 = dataflow.gather_nd %d, %t : tensor<5x7xf32>, tensor<4x2xi64> -> tensor<4xf32>
  %3 = dataflow.scatter_elements add %d, %i, %u {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64>, tensor<3x7xf32> -> tensor<5x7xf32>
  %4 = dataflow.scatter_nd none %d, %t, %w : tensor<5x7xf32>, tensor<4x2xi64>, tensor<4xf32> -> tensor<5x7xf32>
  %5 = dataflow.one_hot %i, %v {axis = 2 : i64, depth = 9 : i64} : tensor<3x7xi64>, tensor<2xf32> -> tensor<3x7x9xf32>
  return
}
