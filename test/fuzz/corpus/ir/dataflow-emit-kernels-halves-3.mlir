// passes: dataflow-emit-kernels
func.func @conv(%x: tensor<1x9x20x32xf16>, %p: tensor<18432xi8>) -> tensor<1x9x20x16xf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_conv %x, %p kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 2, columns = 16, segments = 9, length = 32, panel = 16> : (tensor<1x9x20x32xf16>, tensor<18432xi8>) -> tensor<1x9x20x16xf16>
  return %0 : tensor<1x9x20x16xf16>
}
