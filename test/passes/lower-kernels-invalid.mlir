// RUN: sluice-opt %s --lower-kernels -split-input-file -verify-diagnostics

// Kernels have neither tensors nor memrefs.
// expected-error @+1 {{failed to legalize operation 'func.func'}}
func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
