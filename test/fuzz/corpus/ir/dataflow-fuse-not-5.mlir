// passes: dataflow-fuse
func.func @no_prologue(%x: tensor<4x4xf32>, %image: tensor<1x2x4x4xf32>) -> (tensor<4x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = dataflow.unary relu %x : tensor<4x4xf32>
  %1 = dataflow.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = dataflow.unary relu %image : tensor<1x2x4x4xf32>
  %3 = dataflow.pool max %2 kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<1x2x2x2xf32>
}
