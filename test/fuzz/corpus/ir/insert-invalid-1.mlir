// options: 2
func.func @rank(%cache: tensor<16x4xf32>, %rows: tensor<4xf32>, %start: tensor<i64>) -> tensor<16x4xf32> {
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16x4xf32>, tensor<4xf32>, tensor<i64> -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
