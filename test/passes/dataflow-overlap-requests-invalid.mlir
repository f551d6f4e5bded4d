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
