// passes: dataflow-emit-kernels
func.func @prompt(%a: tensor<40x64xf32>, %p: tensor<2560xi8>) -> tensor<40x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 64, depth = 64, panel = 32, scale = f32, zeros = none> : (tensor<40x64xf32>, tensor<2560xi8>) -> tensor<40x64xf32>
  return %0 : tensor<40x64xf32>
}
