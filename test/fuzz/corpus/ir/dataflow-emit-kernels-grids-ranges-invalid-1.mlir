// passes: dataflow-emit-kernels form=grids
func.func @found(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>> attributes {dataflow.kernel} {
  %0 = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<i64> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>>
  return %0 : tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>>
}
