// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(dataflow-overlap-requests{requests=3}))' --split-input-file --verify-diagnostics

// The state joins all three operators.
// expected-error @below {{the model has 1 part that can compute for different requests (operators of a state are in one part), and 3 requests are to be computed at once, option '--pipeline-requests', leave this option out}}
func.func @joined(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.updates = "s"}) {
  %s = dataflow.state "s" dense<0.000000e+00> : tensor<4xf32>
  %0 = dataflow.binary add %x, %s : tensor<4xf32>, tensor<4xf32>
  %1 = dataflow.unary exp %0 : tensor<4xf32>
  %2 = dataflow.unary log %1 : tensor<4xf32>
  return %2, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{the model has 2 parts that can compute for different requests, and 3 requests are to be computed at once, option '--pipeline-requests', give at most 2}}
func.func @few(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : tensor<4xf32>
  %1 = dataflow.unary log %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @refuses_zeros(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xi1> {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : tensor<4xf32>
  %1 = dataflow.unary log %0 : tensor<4xf32>
  %2 = dataflow.compare lt %1, %x : tensor<4xf32>, tensor<4xf32>
  // expected-error @below {{may refuse its data, in a stage that computes with zeros before the first request reaches it, option '--pipeline-requests', leave this option out}}
  %3 = dataflow.check %2 or "too large" : tensor<4xi1>
  return %3 : tensor<4xi1>
}

// -----

func.func @endless(%x: tensor<f32> {dataflow.name = "x"}) -> (tensor<f32> {dataflow.name = "y"}) {
  %0 = dataflow.unary exp %x : tensor<f32>
  %1 = dataflow.unary log %0 : tensor<f32>
  %trips = dataflow.constant dense<9223372036854775807> : tensor<i64>
  %true = dataflow.constant dense<true> : tensor<i1>
  // expected-error @below {{is a loop without a number of iterations, which may not end, in a stage that computes with zeros before the first request reaches it, option '--pipeline-requests', leave this option out}}
  %2, %count = dataflow.loop %trips, %true carried(%1) captured(%x) {most = 1 : i64}
      : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %before: tensor<f32>, %limit: tensor<f32>):
    %after = dataflow.binary mul %before, %before : tensor<f32>, tensor<f32>
    %on = dataflow.compare gt %after, %limit : tensor<f32>, tensor<f32>
    dataflow.yield %on, %after : tensor<i1>, tensor<f32>
  }
  return %2 : tensor<f32>
}
