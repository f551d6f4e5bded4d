// RUN: sluice-opt %s --dataflow-split -split-input-file -verify-diagnostics

// expected-error @+1 {{operator 'matmul' has no rule 'row', attribute 'dataflow.split', use 'replicated', 'rows', 'columns' or 'contraction'}}
func.func @rule(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"row", 2>} : tensor<8x4xf32>, tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{operator 'matmul' cannot run as 3 parts by rule 'rows', use a number of at least 2 that divides 8}}
func.func @uneven(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"rows", 3>} : tensor<8x4xf32>, tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{operator 'matmul' cannot run as 0 parts by rule 'rows'}}
func.func @none(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"rows", 0>} : tensor<8x4xf32>, tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// expected-error @+1 {{operator 'unary' cannot be split by rule 'replicated', whose parts each do all of the work, use another rule}}
func.func @replicated(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = dataflow.unary tanh %x {dataflow.split = #dataflow.split<"replicated", 2>} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{operator 'conv' cannot be split by rule 'spatial 0', whose parts read elements of neighbouring parts, use another rule}}
func.func @halo(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32> {
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {dataflow.split = #dataflow.split<"spatial 0", 2>} : tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x8x8xf32>
  return %y : tensor<1x2x8x8xf32>
}

// -----

func.func @text(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{attribute 'dataflow.split' is "dim 0", write #dataflow.split<"rows", 2>}}
  %y = dataflow.unary tanh %x {dataflow.split = "dim 0"} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func @constant(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = dataflow.constant dense<1.0> : tensor<2xf32>
  // expected-error @+1 {{is computed from constants at compile time and cannot be split}}
  %d = dataflow.unary tanh %c {dataflow.split = #dataflow.split<"dim 0", 2>} : tensor<2xf32>
  %y = dataflow.binary add %x, %d : tensor<2xf32>, tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// expected-error @+1 {{operator 'unary' has no rule 'dim 0', attribute 'dataflow.split', use 'replicated'}}
func.func @range(%x: tensor<2x8xf32, #dataflow.extents<()[s0] -> (2, s0), <"n" = 0 to 8>>>) -> tensor<2x8xf32, #dataflow.extents<()[s0] -> (2, s0), <"n" = 0 to 8>>> {
  %y = dataflow.unary tanh %x {dataflow.split = #dataflow.split<"dim 0", 2>} : tensor<2x8xf32, #dataflow.extents<()[s0] -> (2, s0), <"n" = 0 to 8>>>
  return %y : tensor<2x8xf32, #dataflow.extents<()[s0] -> (2, s0), <"n" = 0 to 8>>>
}
