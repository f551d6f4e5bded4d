// RUN: sluice-opt %s -split-input-file -verify-diagnostics

func.func @count(%x: tensor<8xf32>, %n: tensor<1xi64>) {
  // expected-error @+1 {{has a count of 'tensor<1xi64>', give a tensor<i64>}}
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<1xi64> -> tensor<5xf32>
  return
}

// -----

func.func @dimension(%x: tensor<8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{must keep the rank and the element type and select along an existing dimension, got dimension 1 of 'tensor<8xf32>' and 'tensor<5xf32>'}}
  %y = dataflow.take_first %x, %n {dim = 1 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<i64> -> tensor<5xf32>
  return
}

// -----

func.func @others(%x: tensor<8x3xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{must change only dimension 0, got dimension 1 changed from 'tensor<8x3xf32>' to 'tensor<5x2xf32>'}}
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8x3xf32>, tensor<i64> -> tensor<5x2xf32>
  return
}

// -----

#symbols = #dataflow.symbols<"rows" = 1 to 8, "kept" = 0 to 8 found>
func.func @given(%x: tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>, %n: tensor<i64>) {
  // expected-error @+1 {{computes symbol 0, which is not the extent of dimension 0 of}}
  %y = dataflow.take_first %x, %n {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>, tensor<i64>
    -> tensor<8xf32, #dataflow.extents<()[s0, s1] -> (s0), #symbols>>
  return
}

// -----

// expected-error @+1 {{symbol "rows" is listed after a symbol that is marked 'found' (computed during a step), write the symbols that the caller gives first}}
#symbols = #dataflow.symbols<"kept" = 0 to 8 found, "rows" = 1 to 8>
