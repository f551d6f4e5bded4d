// passes: dataflow-assign-layout
func.func @matmuls(%x: tensor<4x512xf32>, %h: tensor<2x4x8xf16>) -> (tensor<4x40xf32>, tensor<2x4x5000xf16>) {
  %w = dataflow.constant dense<1.0> : tensor<512x40xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x512xf32>, tensor<512x40xf32>
  %v = dataflow.constant dense<1.0> : tensor<5000x8xf16>
  %1 = dataflow.matmul %h, %v transposed : tensor<2x4x8xf16>, tensor<5000x8xf16>
  return %0, %1 : tensor<4x40xf32>, tensor<2x4x5000xf16>
}
