// passes: dataflow-pool-experts slots=3 hit-rate=0.25
func.func @layer(%x: tensor<4xf32>, %m: tensor<2xi1>) -> tensor<4xf32> {
  %mask = dataflow.unary logical_not %m : tensor<2xi1>
  %w0 = dataflow.constant dense<1.0> : tensor<2048xf32>
  %w1 = dataflow.constant dense<2.0> : tensor<2048xf32>
  %s0 = dataflow.slice %mask from [0] by [1] : tensor<2xi1> -> tensor<1xi1>
  %c0 = dataflow.reshape %s0 : tensor<1xi1> -> tensor<i1>
  %s1 = dataflow.slice %mask from [1] by [1] : tensor<2xi1> -> tensor<1xi1>
  %c1 = dataflow.reshape %s1 : tensor<1xi1> -> tensor<i1>
  %y0 = dataflow.if %c0 captured(%x, %w0) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    %r = dataflow.binary add %a, %p : tensor<4xf32>, tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  %y1 = dataflow.if %c1 captured(%y0, %w1) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    %r = dataflow.binary add %a, %p : tensor<4xf32>, tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y1 : tensor<4xf32>
}
