// passes: dataflow-prune parts=2 layers=fc.*
func.func @uneven(%x: tensor<2x1x3xf32>) -> tensor<2x1x5xf32> {
  %w = dataflow.constant dense<[[1., 2., 3.], [3., 2., 1.], [1., 1., 1.], [5., 0., 1.], [2., 2., 2.]]> : tensor<5x3xf32>
  %v = dataflow.constant dense<1.0> : tensor<5x5xf32>
  %y = dataflow.matmul %x, %w transposed : tensor<2x1x3xf32>, tensor<5x3xf32> loc("fc2")
  %z = dataflow.matmul %y, %v : tensor<2x1x5xf32>, tensor<5x5xf32> loc("head")
  return %z : tensor<2x1x5xf32>
}
