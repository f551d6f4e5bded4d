// RUN: sluice-opt %s --split-input-file --verify-diagnostics --dataflow-pipeline='rank=0 ranks=2 microbatches=3'

// expected-error @+1 {{is not a training step that exchanges gradients, run the pass dataflow-train with accumulate=0}}
func.func @inference(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x4xf32> {dataflow.name = "y"}) {
  %0 = dataflow.unary relu %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{has several outputs, and a training step returns only its loss, run the pass dataflow-train with accumulate=0}}
func.func @outputs(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.name = "z"}) {
  %0 = dataflow.unary relu %x : tensor<4xf32>
  %1 = dataflow.unary exp %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{has a loss that no operator computes from the inputs, so a pipeline has no work to divide, give a loss that depends on the inputs}}
func.func @argument(%x: tensor<f32> {dataflow.name = "x"}) -> (tensor<f32> {dataflow.name = "loss"}) {
  %scale = dataflow.state "optimizer.scale" dense<1.0> : tensor<f64>
  return %x : tensor<f32>
}
