// passes: dataflow-fuse-attention
func.func @masked(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x4xf32>, %m: tensor<1x7xf32>) -> tensor<2x5x4xf32> {
  %c = dataflow.constant dense<4.0> : tensor<f32>
  %0 = dataflow.matmul %q, %k transposed : tensor<2x5x8xf32>, tensor<2x7x8xf32>
  %1 = dataflow.binary div %0, %c : tensor<2x5x7xf32>, tensor<f32>
  %2 = dataflow.binary add %m, %1 : tensor<1x7xf32>, tensor<2x5x7xf32>
  %3 = dataflow.softmax %2 {axis = 2 : i64} : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
  %4 = dataflow.matmul %3, %v : tensor<2x5x7xf32>, tensor<2x7x4xf32>
  return %4 : tensor<2x5x4xf32>
}
