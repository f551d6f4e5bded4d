// options: 6
func.func @one_of_two(%x: tensor<4x6xf32>) {
  %y = dataflow.all_to_all %x split 1 join 0 over [3:1] {uneven_join = #dataflow.uneven<10>} : tensor<4x6xf32> -> tensor<10x2xf32>
  return
}
