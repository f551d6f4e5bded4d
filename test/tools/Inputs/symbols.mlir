// y = exp(x) + z, of 0 to 4 rows and 1 to 8 columns.
#symbols = #dataflow.symbols<"rows" = 0 to 4, "columns" = 1 to 8>
!matrix = tensor<4x8xf32, #dataflow.extents<()[s0, s1] -> (s0, s1), #symbols>>
func.func @main(%x: !matrix {dataflow.name = "x"}, %z: !matrix {dataflow.name = "z"}) -> (!matrix {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : !matrix
  %1 = dataflow.binary add %0, %z : !matrix, !matrix
  return %1 : !matrix
}
