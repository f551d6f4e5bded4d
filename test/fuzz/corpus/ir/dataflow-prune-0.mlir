// passes: dataflow-prune parts=2 layers=fc.*
func.func @blocks(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = dataflow.constant dense<[[0., 1., 0., 2.], [3., 0., 1., 0.], [0., -4., 0., 1.], [1., 0., 2., 0.]]> : tensor<4x4xf32>
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> loc("fc1")
  return %y : tensor<3x4xf32>
}
