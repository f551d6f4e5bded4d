// options: 3
#symbols = #dataflow.symbols<"rows" = 1 to 8, "kept" = 0 to 8 found>
func.func @given(%x: tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>, %n: tensor<i64>) {
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>, tensor<i64>
    -> tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>
  return
}
