// options: 5
func.func @limits(%b: tensor<2x7x4xf32>, %s: tensor<2x3x7xf32>, %n: tensor<1xi64>, %o: tensor<f32>) {
  %1:2 = dataflow.non_max_suppression %b, %s, %n, %o {most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<1xi64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  return
}
