// options: 3
func.func @shapes() -> tensor<3xi64> {
  %shape = dataflow.constant dense<[1, 3, 7, 14]> : tensor<4xi64>
  %which = dataflow.constant dense<[-2, -1]> : tensor<2xi64>
  %0 = dataflow.gather %shape, %which {axis = 0 : i64} : tensor<4xi64>, tensor<2xi64> -> tensor<2xi64>
  %1 = dataflow.slice %shape from [0] by [1] : tensor<4xi64> -> tensor<1xi64>
  %2 = dataflow.concat %1, %0 {axis = 0 : i64} : tensor<1xi64>, tensor<2xi64> -> tensor<3xi64>
  return %2 : tensor<3xi64>
}
