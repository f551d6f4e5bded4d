// options: 1
func.func @selection(%x: tensor<2x3xi1>, %b: tensor<2x7x4xf32>, %s: tensor<2x3x7xf32>, %n: tensor<i64>, %o: tensor<f32>) {
  %0:2 = dataflow.nonzero %x : tensor<2x3xi1> -> tensor<2x6xi64>, tensor<i64>
  %1:2 = dataflow.non_max_suppression %b, %s, %n, %o, %o {most = 4 : i64, centered} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  %2:2 = dataflow.non_max_suppression %b, %s, %n, %o {most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  return
}
