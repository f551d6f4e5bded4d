// passes: dataflow-carry-states states=h
func.func @fixed(%h: tensor<4xf32> {dataflow.name = "h"}, %k: tensor<5xi64> {dataflow.name = "k"})
    -> (tensor<4xf32> {dataflow.name = "hn"}, tensor<5xi64> {dataflow.name = "kn"}) {
  %0 = dataflow.unary tanh %h : tensor<4xf32>
  %1 = dataflow.copy %k : tensor<5xi64>
  return %0, %1 : tensor<4xf32>, tensor<5xi64>
}
#symbols = #dataflow.symbols<"some" = 1 to 7, "past" = 0 to 7>
#s = #dataflow.extents<()[s0, s1] -> (s0, 1), #symbols>
#s1 = #dataflow.extents<()[s0, s1] -> (s0 + 1, 1), #symbols>
#p = #dataflow.extents<()[s0, s1] -> (s1, 1), #symbols>
#p1 = #dataflow.extents<()[s0, s1] -> (s1 + 1, 1), #symbols>
#p2 = #dataflow.extents<()[s0, s1] -> (s1 + 2, 1), #symbols>
