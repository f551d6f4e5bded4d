// passes: dataflow-carry-states states=past.*.key=present.*.key
#symbols = #dataflow.symbols<"past" = 0 to 7>
func.func @anew(%past: tensor<7xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> {dataflow.name = "past.1.key"},
                %x: tensor<1xf32> {dataflow.name = "x"})
    -> (tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>> {dataflow.name = "present.1.key"}) {
  %0 = dataflow.concat %x, %past {axis = 0 : i64}
      : tensor<1xf32>, tensor<7xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>>
  return %0 : tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>>
}
