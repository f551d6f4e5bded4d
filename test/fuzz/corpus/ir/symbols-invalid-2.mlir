// options: 7
#rows = #dataflow.symbols<"rows" = 1 to 4>
#columns = #dataflow.symbols<"columns" = 1 to 4>
exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.input "x" : tensor<4xf32, #dataflow.extents<()[s0] -> (s0), #rows>>
  exec.input "w" : tensor<4xf32, #dataflow.extents<()[s0] -> (s0), #columns>>
  exec.step {
  }
}
