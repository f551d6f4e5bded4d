// passes: dataflow-emit-kernels
func.func @choose(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {dataflow.kernel} {
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = dataflow.unary relu %a : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
