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

// -----

func.func @pack(%w: tensor<8x6xbf16>) -> tensor<256xi8> attributes {dataflow.kernel} {
  // expected-error @+1 {{'dataflow.pack_half_rhs' op has no kernel, compute its operands from constants alone}}
  %0 = dataflow.pack_half_rhs %w panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8x6xbf16>) -> tensor<256xi8>
  return %0 : tensor<256xi8>
}

// -----

func.func @large(%a: tensor<4x4611686018427387904xf32>, %b: tensor<4611686018427387904x4xf32>) -> tensor<4x4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{kernel of 'tensor<4x4611686018427387904xf32>', which has more bytes than can be addressed, use smaller dimensions}}
  %0 = dataflow.matmul %a, %b : tensor<4x4611686018427387904xf32>, tensor<4611686018427387904x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @large_attention(%q: tensor<4x4611686018427387904xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{which has more bytes than can be addressed}}
  %0 = dataflow.attention %q, %q, %v : (tensor<4x4611686018427387904xf32>, tensor<4x4611686018427387904xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
