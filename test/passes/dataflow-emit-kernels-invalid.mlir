// RUN: sluice-opt %s --dataflow-emit-kernels -split-input-file -verify-diagnostics
// RUN: not sluice-opt %s --dataflow-emit-kernels=form=waves 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: 'waves' is unknown, option 'form', use chunks or grids
// RUN: not sluice-opt %s --dataflow-emit-kernels=chunks=vectors=soon 2>&1 | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: error: 'vectors=soon' is not a list of times, option 'chunks', write RATE=NANOSECONDS or RATE=never, as in vectors=9000,products=never
// RUN: not sluice-opt %s --dataflow-emit-kernels=precision=f8 2>&1 | FileCheck %s --check-prefix=PRECISION
// PRECISION: error: 'f8' is unknown, option 'precision', use f32, tf32, bf16 or f16

// expected-error @+1 {{is not a kernel, attribute 'dataflow.kernel', write exactly one operator of the dataflow dialect, not counting reshapes of arguments, and return the results of the operator}}
func.func @two(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.kernel} {
  %0 = dataflow.unary tanh %x : tensor<8xf32>
  %1 = dataflow.unary tanh %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// expected-error @+1 {{is not a kernel}}
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.kernel} {
  return %x : tensor<8xf32>
}

// -----

func.func @pack(%w: tensor<8x6xbf16>) -> tensor<256xi8> attributes {dataflow.kernel} {
  // expected-error @+1 {{'dataflow.pack_half_rhs' op has no kernel, run the pass dataflow-simplify, which replaces the operator, or compute the operands from constants only}}
  %0 = dataflow.pack_half_rhs %w panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<8x6xbf16>) -> tensor<256xi8>
  return %0 : tensor<256xi8>
}

// -----

func.func @large(%a: tensor<4x4611686018427387904xf32>, %b: tensor<4611686018427387904x4xf32>) -> tensor<4x4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{has a tensor of type 'tensor<4x4611686018427387904xf32>' in its kernel, and this tensor has more bytes than can be addressed, use smaller dimensions}}
  %0 = dataflow.matmul %a, %b : tensor<4x4611686018427387904xf32>, tensor<4611686018427387904x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @large_attention(%q: tensor<4x4611686018427387904xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{this tensor has more bytes than can be addressed}}
  %0 = dataflow.attention %q, %q, %v : (tensor<4x4611686018427387904xf32>, tensor<4x4611686018427387904xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @blocks(%x: tensor<4x8xf32>, %w: tensor<5x8x8xf32>) -> tensor<4x40xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{has a weight in blocks of 8, and the target needs blocks of 32, give dataflow-assign-layout the target's lanes and registers}}
  %0 = dataflow.matmul %x, %w packed 40 : tensor<4x8xf32>, tensor<5x8x8xf32>
  return %0 : tensor<4x40xf32>
}

// -----

func.func @conv_blocks(%x: tensor<1x9x11x4xf32>, %w: tensor<1x1x3x3x4x16xf32>) -> tensor<1x9x11x6xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{has a weight in blocks of 16, and the target needs blocks of 8}}
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x4xf32>, tensor<1x1x3x3x4x16xf32> -> tensor<1x9x11x6xf32>
  return %0 : tensor<1x9x11x6xf32>
}

// -----

func.func @computed_rows(%x: tensor<4x8xbf16>, %p: tensor<256xi8>) -> tensor<4x6xbf16> attributes {dataflow.kernel} {
  // expected-error @+1 {{member 'dataflow.half_matmul' reads from memory a value that another member of the fused operator computes, pass the value as an operand}}
  %0 = dataflow.fused (%a = %x : tensor<4x8xbf16>, %b = %p : tensor<256xi8>) -> (tensor<4x6xbf16>) {
    %1 = dataflow.unary neg %a : tensor<4x8xbf16>
    %2 = dataflow.half_matmul %1, %b panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 8, panel = 16> : (tensor<4x8xbf16>, tensor<256xi8>) -> tensor<4x6xbf16>
    dataflow.yield %2 : tensor<4x6xbf16>
  }
  return %0 : tensor<4x6xbf16>
}

// -----

func.func @computed_columns(%x: tensor<4x8xui8>, %y: tensor<8x6xi8>) -> tensor<4x6xi32> attributes {dataflow.kernel} {
  // expected-error @+1 {{member 'dataflow.integer_matmul' reads from memory a value that another member of the fused operator computes, pass the value as an operand}}
  %0 = dataflow.fused (%a = %x : tensor<4x8xui8>, %b = %y : tensor<8x6xi8>) -> (tensor<4x6xi32>) {
    %1 = dataflow.unary neg %b : tensor<8x6xi8>
    %2 = dataflow.integer_matmul %a, %1 panels <dot = quads, columns = 6, segments = 1, length = 8, panel = 16, zeroPoints = false> : (tensor<4x8xui8>, tensor<8x6xi8>) -> tensor<4x6xi32>
    dataflow.yield %2 : tensor<4x6xi32>
  }
  return %0 : tensor<4x6xi32>
}

// -----

func.func @computed_queries(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>) -> tensor<4x8xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{member 'dataflow.attention' reads from memory a value that another member of the fused operator computes, pass the value as an operand}}
  %0 = dataflow.fused (%a = %q : tensor<4x8xf32>, %b = %k : tensor<5x8xf32>) -> (tensor<4x8xf32>) {
    %1 = dataflow.unary neg %a : tensor<4x8xf32>
    %2 = dataflow.attention %1, %b, %b : (tensor<4x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
    dataflow.yield %2 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}

// -----

func.func @constants(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{has a program with constants of its own, run dataflow-fuse first}}
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = dataflow.constant dense<0.0> : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @grids(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {dataflow.kernel} {
  // expected-error @+1 {{contains a program of several kernels, which GPU code (grids) does not support}}
  %y = dataflow.if %c captured(%x) {dataflow.device = #dataflow.device<"gpu0", grids>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = dataflow.unary relu %a : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
