// options: 0
func.func @repeat(%trips: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>, %w: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<8x2xf32>, tensor<i64>) {
  %last, %all, %count = dataflow.loop %trips, %c carried(%s) captured(%w) {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<8x2xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %before: tensor<2xf32>, %weight: tensor<2xf32>):
    %after = dataflow.binary mul %before, %weight : tensor<2xf32>, tensor<2xf32>
    %sum = dataflow.reduce sum %after axes [0] : tensor<2xf32> -> tensor<f32>
    %one = dataflow.constant dense<1.0> : tensor<f32>
    %on = dataflow.compare gt %sum, %one : tensor<f32>, tensor<f32>
    dataflow.yield %on, %after, %before : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  return %last, %all, %count : tensor<2xf32>, tensor<8x2xf32>, tensor<i64>
}
