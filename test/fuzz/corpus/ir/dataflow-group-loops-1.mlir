// passes: dataflow-group-loops
func.func @wide(%c: tensor<i1>, %x: tensor<9000000xf32>) -> (tensor<9000000xf32>, tensor<9000000xf32>) {
  %n = dataflow.constant dense<4000> : tensor<i64>
  %a:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<9000000xf32>, tensor<i1>) -> (tensor<9000000xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<9000000xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<9000000xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<9000000xf32>
  }
  %b:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<9000000xf32>, tensor<i1>) -> (tensor<9000000xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<9000000xf32>, %on: tensor<i1>):
    %t = dataflow.unary sigmoid %s : tensor<9000000xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<9000000xf32>
  }
  return %a#0, %b#0 : tensor<9000000xf32>, tensor<9000000xf32>
}
