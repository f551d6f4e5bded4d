// passes: dataflow-emit-kernels
func.func @reduction(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<64x1024xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
