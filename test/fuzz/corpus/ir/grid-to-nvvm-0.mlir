// options: 2
func.func @rows(%x: tensor<2x32768xf32>) -> tensor<2xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<2x32768xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
