// passes: dataflow-emit-kernels
#small = #dataflow.extents<()[s0, s1] -> (s1, 3, s0), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>
#long = #dataflow.extents<()[s0] -> (s0, 3, 244, 244), <"n" = 1 to 50>>
func.func @small(%x: tensor<8x3x64xf32, #small>) -> tensor<64x8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, s1, 3), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>> attributes {dataflow.kernel} {
  %0 = dataflow.transpose %x [2, 0, 1] : tensor<8x3x64xf32, #small>
  return %0 : tensor<64x8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, s1, 3), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>>
}
func.func @long(%x: tensor<50x3x244x244xf32, #long>) -> tensor<50x244x244x3xf32, #dataflow.extents<()[s0] -> (s0, 244, 244, 3), <"n" = 1 to 50>>> attributes {dataflow.kernel} {
  %0 = dataflow.transpose %x [0, 2, 3, 1] : tensor<50x3x244x244xf32, #long>
  return %0 : tensor<50x244x244x3xf32, #dataflow.extents<()[s0] -> (s0, 244, 244, 3), <"n" = 1 to 50>>>
}
