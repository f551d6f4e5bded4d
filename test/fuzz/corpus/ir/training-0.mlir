// options: 0
func.func @states() {
  %0 = dataflow.state "fc/weight" trainable dense<0.5> : tensor<3x4xf32>
  %1 = dataflow.state "step" dense<0> : tensor<i64>
  return
}
