// options: 4
func.func @longer() -> tensor<2x16x4xf32> {
  %past = dataflow.state "past" length #dataflow.extents<()[s0] -> (s0, s0 + 1), <"past" = 0 to 15>> dense<0.0> : tensor<2x16x4xf32>
  return %past : tensor<2x16x4xf32>
}
