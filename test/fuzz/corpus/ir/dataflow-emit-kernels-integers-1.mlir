// passes: exec-attach-target target=x86-64-v4; dataflow-emit-kernels
func.func @quads(%a: tensor<40x128xui8>, %p: tensor<2112xi8>) -> tensor<40x6xi32> attributes {dataflow.kernel} {
  %0 = dataflow.integer_matmul %a, %p panels <dot = quads, columns = 6, segments = 1, length = 128, panel = 16, zeroPoints = false> : (tensor<40x128xui8>, tensor<2112xi8>) -> tensor<40x6xi32>
  return %0 : tensor<40x6xi32>
}
