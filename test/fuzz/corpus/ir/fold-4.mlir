// options: 6
func.func @movement() -> (tensor<3x2xi32>, tensor<2x2xi32>, tensor<5xi32>, tensor<3xi32>) {
  %m = dataflow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = dataflow.transpose %m [1, 0] : tensor<2x3xi32>
  %1 = dataflow.slice %m from [0, 2] by [1, -2] : tensor<2x3xi32> -> tensor<2x2xi32>
  %row = dataflow.slice %m from [0, 0] by [1, 1] : tensor<2x3xi32> -> tensor<1x3xi32>
  %flat = dataflow.reshape %row : tensor<1x3xi32> -> tensor<3xi32>
  %zero = dataflow.constant dense<0> : tensor<i32>
  %2 = dataflow.pad reflect %flat, %zero low [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  %3 = dataflow.reduce sum %m axes [0] : tensor<2x3xi32> -> tensor<3xi32>
  return %0, %1, %2, %3 : tensor<3x2xi32>, tensor<2x2xi32>, tensor<5xi32>, tensor<3xi32>
}
