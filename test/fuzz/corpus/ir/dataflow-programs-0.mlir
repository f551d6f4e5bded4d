// passes: dataflow-fuse
func.func @swapped(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  %r:3 = dataflow.loop %n, %c carried(%a, %b) captured(%c) {most = 9 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<4xf32>, %q: tensor<4xf32>, %on: tensor<i1>):
    dataflow.yield %on, %q, %p : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<i64>
}
