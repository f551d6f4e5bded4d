// passes: dataflow-emit-kernels form=grids
func.func @conv(%x: tensor<1x6x5x128xf32>, %w: tensor<1x1x3x3x128x16xf32>) -> tensor<1x6x5x16xf32> attributes {dataflow.kernel} {
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 16 : i64} : tensor<1x6x5x128xf32>, tensor<1x1x3x3x128x16xf32> -> tensor<1x6x5x16xf32>
  return %0 : tensor<1x6x5x16xf32>
}
