// RUN: sluice-opt %s --dataflow-emit-kernels=form=grids -split-input-file -verify-diagnostics

// The host stores what a step finds before kernels that compute with it begin.
func.func @found(%x: tensor<8xf32>, %n: tensor<i64>) -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>> attributes {dataflow.kernel} {
  // expected-error @+1 {{computes an extent from data, and only a kernel on a CPU can store this extent}}
  %0 = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<i64> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>>
  return %0 : tensor<8xf32, #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 8 found>>>
}

// -----

// A training step's kernels have one size for each dimension.
#line = #dataflow.extents<()[s0] -> (s0), <"n" = 1 to 8>>
func.func @mask(%step: tensor<i64>) -> tensor<8xi1, #line> attributes {dataflow.kernel} {
  // expected-error @+1 {{has a kernel that needs sizes that are known at compile time, give dimension "n" one size}}
  %0 = dataflow.dropout_mask %step {keep = 0.75 : f64, seed = 3 : i64} : (tensor<i64>) -> tensor<8xi1, #line>
  return %0 : tensor<8xi1, #line>
}
