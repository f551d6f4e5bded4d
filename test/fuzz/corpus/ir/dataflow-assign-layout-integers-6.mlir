// passes: dataflow-assign-layout dot=quads
func.func @large(%a: tensor<4x8xui8>, %b: tensor<8x4611686018427387904xi8>, %c: tensor<4x?xui8>, %d: tensor<?x6xi8>, %x: tensor<1x1x1x1xui8>)
    -> (tensor<4x4611686018427387904xi32>, tensor<4x6xi32>, tensor<1x8589934592x1x1xi32>) {
  %w = dataflow.constant dense<3> : tensor<8589934592x1x1x1xi8>
  %0 = dataflow.integer_matmul %a, %b : (tensor<4x8xui8>, tensor<8x4611686018427387904xi8>) -> tensor<4x4611686018427387904xi32>
  %1 = dataflow.integer_matmul %c, %d : (tensor<4x?xui8>, tensor<?x6xi8>) -> tensor<4x6xi32>
  %2 = dataflow.integer_conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x1x1x1xui8>, tensor<8589934592x1x1x1xi8>) -> tensor<1x8589934592x1x1xi32>
  return %0, %1, %2 : tensor<4x4611686018427387904xi32>, tensor<4x6xi32>, tensor<1x8589934592x1x1xi32>
}
