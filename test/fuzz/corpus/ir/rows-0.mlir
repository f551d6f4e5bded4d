// options: 3
func.func @rows(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %row: tensor<4xf32>) {
  %0 = dataflow.reduce mean %x axes [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  %1 = dataflow.reduce max %x axes [1] {keep_dims = true} : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
  %2 = dataflow.arg_reduce %x {axis = 1 : i64} : tensor<2x3x4xf32> -> tensor<2x1x4xi64>
  %3 = dataflow.arg_reduce %x {axis = 1 : i64, keep_dims = false, largest = false} : tensor<2x3x4xf32> -> tensor<2x4xi64>
  %4 = dataflow.cumsum %x {axis = 2 : i64, exclusive = true} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %5, %6 = dataflow.topk %x {axis = 2 : i64, k = 2 : i64} : tensor<2x3x4xf32> -> tensor<2x3x2xf32>, tensor<2x3x2xi64>
  %7 = dataflow.softmax %x {axis = 2 : i64, log = true} : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %8 = dataflow.layer_norm %x, %row {axis = 2 : i64, epsilon = 1.0e-05 : f64} : tensor<2x3x4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
  %9 = dataflow.layer_norm %x, %row, %row {axis = 2 : i64, epsilon = 1.0e-05 : f64} : tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32> -> tensor<2x3x4xf32>
  %10 = dataflow.instance_norm %x, %c, %c {epsilon = 1.0e-05 : f64} : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
  %11 = dataflow.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-05 : f64} : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3x4xf32>
  return
}
