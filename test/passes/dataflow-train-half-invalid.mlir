// RUN: sluice-opt %s --split-input-file --verify-diagnostics --dataflow-train='loss=mse optimizer=adam'
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=adam epsilon=1e-4' | FileCheck %s

// Adam's usual epsilon would divide zero by zero.
// CHECK: dataflow.updates = "w"
// expected-error @+1 {{epsilon 1.000000e-08 is zero in half precision, that of parameter 'w', give a larger one}}
func.func @half(%x: tensor<8x4xf16> {dataflow.name = "x"}) -> (tensor<8x4xf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf16>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf16>, tensor<4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

// CHECK: dataflow.updates = "w"
func.func @brain(%x: tensor<8x4xbf16> {dataflow.name = "x"}) -> (tensor<8x4xbf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xbf16>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xbf16>, tensor<4xbf16>
  return %0 : tensor<8x4xbf16>
}
