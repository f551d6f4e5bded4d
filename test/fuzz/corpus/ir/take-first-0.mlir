// options: 4
#symbols = #dataflow.symbols<"rows" = 1 to 8, "kept" = 0 to 8 found>
func.func @ranged(%x: tensor<8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, 3), #symbols>>, %n: tensor<i64>)
    -> tensor<8x3xf32, #dataflow.extents<()[s0, s1] -> (s1, 3), #symbols>> {
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 1 : i64}
    : tensor<8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, 3), #symbols>>, tensor<i64>
    -> tensor<8x3xf32, #dataflow.extents<()[s0, s1] -> (s1, 3), #symbols>>
  return %y : tensor<8x3xf32, #dataflow.extents<()[s0, s1] -> (s1, 3), #symbols>>
}
func.func @static(%x: tensor<8x3xf32>, %n: tensor<i64>) -> tensor<5x3xf32> {
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8x3xf32>, tensor<i64> -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
func.func @found(%x: tensor<64x4xf32>, %count: tensor<i64>)
    -> tensor<64x4xf32, #dataflow.extents<()[s0] -> (s0, 4), <"kept" = 0 to 64 found>>> {
  %y = dataflow.take_first %x, %count {dim = 0 : i64, symbol = 0 : i64}
      : tensor<64x4xf32>, tensor<i64> -> tensor<64x4xf32, #dataflow.extents<()[s0] -> (s0, 4), <"kept" = 0 to 64 found>>>
  return %y : tensor<64x4xf32, #dataflow.extents<()[s0] -> (s0, 4), <"kept" = 0 to 64 found>>>
}
