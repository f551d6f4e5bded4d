// passes: dataflow-emit-kernels
func.func @large_matmul(%a: tensor<256x512xf32>, %b: tensor<512x256xf32>) -> tensor<256x256xf32> attributes {dataflow.kernel} {
  %0 = dataflow.matmul %a, %b : tensor<256x512xf32>, tensor<512x256xf32>
  return %0 : tensor<256x256xf32>
}
