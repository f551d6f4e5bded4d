// passes: dataflow-emit-kernels form=grids
func.func @placed(%x: tensor<64xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.unary tanh %x {dataflow.device = #dataflow.device<"gpu0", grids>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
