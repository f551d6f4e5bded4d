// options: 4
func.func @stays() -> (tensor<20000xf32>, tensor<2xf32>, tensor<f32>) {
  %large = dataflow.constant dense<1.0> : tensor<20000xf32>
  %0 = dataflow.unary exp %large : tensor<20000xf32>
  %small = dataflow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %far = dataflow.constant dense<[0, 5]> : tensor<2xi64>
  %1 = dataflow.gather %small, %far {axis = 0 : i64} : tensor<2xf32>, tensor<2xi64> -> tensor<2xf32>
  %none = dataflow.constant dense<> : tensor<0xf32>
  %2 = dataflow.reduce max %none axes [0] : tensor<0xf32> -> tensor<f32>
  return %0, %1, %2 : tensor<20000xf32>, tensor<2xf32>, tensor<f32>
}
