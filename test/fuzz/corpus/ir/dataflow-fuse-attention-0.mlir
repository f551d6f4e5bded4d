// passes: dataflow-fuse-attention
func.func @plain(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %1 = dataflow.softmax %0 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %2 = dataflow.matmul %1, %v : tensor<5x7xf32>, tensor<7x4xf32>
  return %2 : tensor<5x4xf32>
}
