// Where a vector is not zero, and how often.
#symbols = #dataflow.symbols<"length" = 1 to 16, "kept" = 0 to 16 found>
!given = tensor<16xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>
!room = tensor<1x16xi64, #dataflow.extents<()[s0, s1] -> (1, s0), #symbols>>
!kept = tensor<1x16xi64, #dataflow.extents<()[s0, s1] -> (1, s1), #symbols>>
func.func @main(%x: !given {dataflow.name = "x"}) -> (!kept {dataflow.name = "places"}) {
  %room, %count = dataflow.nonzero %x : !given -> !room, tensor<i64>
  %places = dataflow.take_first %room, %count {dim = 1 : i64, symbol = 1 : i64} : !room, tensor<i64> -> !kept
  return %places : !kept
}
