// passes: dataflow-emit-kernels
func.func @repeat(%n: tensor<i64>, %c: tensor<i1>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) attributes {dataflow.kernel} {
  %y, %count = dataflow.loop %n, %c carried(%s) captured(%c) {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %on: tensor<i1>):
    %r = dataflow.unary relu %a : tensor<4xf32>
    dataflow.yield %on, %r : tensor<i1>, tensor<4xf32>
  }
  return %y, %count : tensor<4xf32>, tensor<i64>
}
