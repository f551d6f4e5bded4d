// RUN: sluice-opt %s --dataflow-emit-kernels -split-input-file -verify-diagnostics
// RUN: not sluice-opt %s --dataflow-emit-kernels=form=waves 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: 'waves' is unknown, option 'form', use chunks or grids
// RUN: not sluice-opt %s --dataflow-emit-kernels=precision=f8 2>&1 | FileCheck %s --check-prefix=PRECISION
// PRECISION: error: 'f8' is unknown, option 'precision', use f32, tf32, bf16 or f16

// expected-error @+1 {{is no kernel, attribute 'dataflow.kernel', write one operator of the dataflow dialect, and reshapes of arguments, and return the operator's results}}
func.func @two(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.kernel} {
  %0 = dataflow.unary tanh %x : tensor<8xf32>
  %1 = dataflow.unary tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// expected-error @+1 {{is no kernel}}
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.kernel} {
  return %x : tensor<8xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{kernel of dynamic shape, bind every dimension first}}
  %0 = dataflow.unary tanh %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
