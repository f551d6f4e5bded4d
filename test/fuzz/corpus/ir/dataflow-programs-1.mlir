// passes: dataflow-fuse
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %s: tensor<2x8xf32>, %x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<i64>) {
  %last, %count = dataflow.loop %n, %c carried(%s) captured(%x) {most = 100 : i64}
    : (tensor<i64>, tensor<i1>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %h: tensor<2x8xf32>, %in: tensor<2x8xf32>):
    %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
    %p = dataflow.matmul %h, %w : tensor<2x8xf32>, tensor<8x8xf32>
    %a = dataflow.binary add %p, %in : tensor<2x8xf32>, tensor<2x8xf32>
    %t = dataflow.unary tanh %a : tensor<2x8xf32>
    %sum = dataflow.reduce sum %t axes [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %limit = dataflow.constant dense<100.0> : tensor<f32>
    %on = dataflow.compare lt %sum, %limit : tensor<f32>, tensor<f32>
    dataflow.yield %on, %t : tensor<i1>, tensor<2x8xf32>
  }
  return %last, %count : tensor<2x8xf32>, tensor<i64>
}
