// passes: exec-attach-target target=x86-64-v3,cuda:sm_90,cuda:emulated; dataflow-emit-kernels form=grids; lower-grids
#rows = #dataflow.extents<()[s0] -> (s0, 100), <"n" = 1 to 64>>
func.func @chain(%x: tensor<64x100xf32, #rows>) -> tensor<64x100xf32, #rows> attributes {dataflow.kernel} {
  %0 = dataflow.unary abs %x : tensor<64x100xf32, #rows>
  return %0 : tensor<64x100xf32, #rows>
}
