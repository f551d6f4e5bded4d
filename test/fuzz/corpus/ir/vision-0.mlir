// options: 0
func.func @bits(%x: tensor<3xf32>) -> tensor<3xui4> {
  %0 = dataflow.bitcast %x : tensor<3xf32> -> tensor<3xi32>
  %1 = dataflow.random {seed = 7 : i64} : tensor<4x5xf32>
  %2 = dataflow.cast %x saturate : tensor<3xf32> -> tensor<3xf8E4M3FN>
  %3 = dataflow.cast %2 : tensor<3xf8E4M3FN> -> tensor<3xui4>
  return %3 : tensor<3xui4>
}
