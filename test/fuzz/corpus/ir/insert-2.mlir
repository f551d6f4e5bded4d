// options: 6
func.func @constant(%cache: tensor<2x16x4xf32>, %rows: tensor<2x1x4xf32>, %start: tensor<i64>) -> tensor<2x16x4xf32> {
  %0 = dataflow.insert %cache, %rows at %start {dim = 1 : i64}
      : tensor<2x16x4xf32>, tensor<2x1x4xf32>, tensor<i64> -> tensor<2x16x4xf32>
  return %0 : tensor<2x16x4xf32>
}
#symbols = #dataflow.symbols<"new" = 0 to 4>
