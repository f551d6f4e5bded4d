// passes: dataflow-simplify
func.func @mesh(%x: tensor<8x4xf32> {dataflow.tiling = #dataflow.tiling<S0, R>}) -> (tensor<8x4xf32>, tensor<4x4xf32> {dataflow.updates = "w"})
    attributes {dataflow.mesh = array<i64: 2, 2>} {
  %w = dataflow.state "w" trainable {dataflow.tiling = [#dataflow.tiling<R, S0>]} dense<1.0> : tensor<4x4xf32>
  %y = dataflow.matmul %x, %w {dataflow.rules = ["rows", "replicated"], dataflow.tiling = [#dataflow.tiling<S0, R>]} : tensor<8x4xf32>, tensor<4x4xf32>
  %z = dataflow.matmul %y, %w {dataflow.rules = ["rows", "replicated"], dataflow.tiling = [#dataflow.tiling<S0, R>]} : tensor<8x4xf32>, tensor<4x4xf32>
  %n = dataflow.unary tanh %w {dataflow.rules = ["replicated", "dim 0"], dataflow.tiling = [#dataflow.tiling<R, S0>]} : tensor<4x4xf32>
  return %z, %n : tensor<8x4xf32>, tensor<4x4xf32>
}
