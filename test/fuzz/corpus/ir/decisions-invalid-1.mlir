// options: 2
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dataflow.matmul %x, %x {dataflow.tuning = #dataflow.tuning<kernel = "k", chunk_ns = -1>} : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
