// passes: exec-attach-target target=x86-64-v3,cuda:sm_90,cuda:emulated; dataflow-emit-kernels form=grids; lower-grids
func.func @chain(%x: tensor<64x1024xf32>, %y: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.binary add %x, %y : tensor<64x1024xf32>, tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
