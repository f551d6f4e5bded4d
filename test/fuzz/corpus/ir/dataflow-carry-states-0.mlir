// passes: dataflow-carry-states states=past.*.key=present.*.key
func.func @fixed(%x: tensor<4xf32> {dataflow.name = "x"}, %h: tensor<4xf32> {dataflow.name = "past.h.key"})
    -> (tensor<4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.name = "present.h.key"}) {
  %0 = dataflow.binary add %x, %h : tensor<4xf32>, tensor<4xf32>
  %1 = dataflow.unary tanh %0 : tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
