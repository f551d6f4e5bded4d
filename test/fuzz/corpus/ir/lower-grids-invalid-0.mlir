// passes: dataflow-emit-kernels form=grids; lower-grids
func.func @sine(%x: tensor<64xf64>) -> tensor<64xf64> attributes {dataflow.kernel} {
  %0 = dataflow.unary sin %x : tensor<64xf64>
  return %0 : tensor<64xf64>
}
