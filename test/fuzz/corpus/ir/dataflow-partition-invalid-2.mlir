// options: 7
func.func @state(%x: tensor<6xf32>) -> tensor<6xf32> attributes {dataflow.mesh = array<i64: 4>} {
  %w = dataflow.state "w" trainable {dataflow.tiling = [#dataflow.tiling<S0>]} dense<1.0> : tensor<6xf32>
  %y = dataflow.binary mul %x, %w : tensor<6xf32>, tensor<6xf32>
  return %y : tensor<6xf32>
}
