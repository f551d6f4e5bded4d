// passes: dataflow-emit-kernels
func.func @computed_columns(%x: tensor<4x8xui8>, %y: tensor<8x6xi8>) -> tensor<4x6xi32> attributes {dataflow.kernel} {
  %0 = dataflow.fused (%a = %x : tensor<4x8xui8>, %b = %y : tensor<8x6xi8>) -> (tensor<4x6xi32>) {
    %1 = dataflow.unary neg %b : tensor<8x6xi8>
    %2 = dataflow.integer_matmul %a, %1 panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xi32>
    dataflow.yield %2 : tensor<4x6xi32>
  }
  return %0 : tensor<4x6xi32>
}
