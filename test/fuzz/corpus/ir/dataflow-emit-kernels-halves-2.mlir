// passes: dataflow-emit-kernels
func.func @bf16(%a: tensor<64x96xbf16>, %p: tensor<12288xi8>) -> tensor<64x64xbf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 1, columns = 64, segments = 1, length = 96, panel = 32> : (tensor<64x96xbf16>, tensor<12288xi8>) -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}
