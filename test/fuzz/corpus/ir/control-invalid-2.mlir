// options: 5
#symbols = #dataflow.symbols<"kept" = 0 to 8 found>
func.func @found_behind(%t: tensor<i64>, %c: tensor<i1>, %x: tensor<8xf32>, %n: tensor<i64>, %s: tensor<f32>) -> tensor<f32> {
  %y:2 = dataflow.loop %t, %c carried(%s) captured(%x, %n) {most = 4 : i64} : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<8xf32>, tensor<i64>) -> (tensor<f32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<8xf32>, %m: tensor<i64>):
    %go = dataflow.constant dense<true> : tensor<i1>
    %k = dataflow.extents affine_map<()[s0] -> (s0)> of #symbols : tensor<i64>
    %f = dataflow.take_first %b, %m {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<i64> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
    %r = dataflow.reduce sum %f axes [0] : tensor<8xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> -> tensor<f32>
    %g = dataflow.cast %k : tensor<i64> -> tensor<f32>
    %z = dataflow.binary add %r, %g : tensor<f32>, tensor<f32>
    dataflow.yield %go, %z : tensor<i1>, tensor<f32>
  }
  return %y#0 : tensor<f32>
}
