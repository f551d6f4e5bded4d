// passes: dataflow-assign-layout dot=quads
func.func @beyond_bytes(%x: tensor<1x4x9x9xui8>) -> tensor<1x6x9x9xi32> {
  %z = dataflow.constant dense<256> : tensor<i32>
  %w = dataflow.constant dense<3> : tensor<6x4x3x3xi8>
  %0 = dataflow.integer_conv %x less %z, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<i32>) -> tensor<1x6x9x9xi32>
  return %0 : tensor<1x6x9x9xi32>
}
