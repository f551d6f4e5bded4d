// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @ranks(%q: tensor<5x8xf32>, %k: tensor<1x7x8xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{attention operands have ranks 2, 3 and 2, give equal ranks of at least 2}}
  %0 = dataflow.attention %q, %k, %v : (tensor<5x8xf32>, tensor<1x7x8xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @batch(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<3x7x4xf32>) {
  // expected-error @+1 {{has keys and values of 2 and 3 elements in dimension 0, in which the query has 2 elements}}
  %0 = dataflow.attention %q, %k, %v : (tensor<2x5x8xf32>, tensor<2x7x8xf32>, tensor<3x7x4xf32>) -> tensor<2x5x4xf32>
  return
}

// -----

func.func @keys(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{has 8 keys of depth 7, and must have 7 keys, one for each value, of the query's depth, 8}}
  %0 = dataflow.attention %q, %k transposed, %v : (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @none(%q: tensor<5x8xf32>, %k: tensor<0x8xf32>, %v: tensor<0x4xf32>) {
  // expected-error @+1 {{has no keys}}
  %0 = dataflow.attention %q, %k, %v : (tensor<5x8xf32>, tensor<0x8xf32>, tensor<0x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @mask(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>, %m: tensor<2x5x7xf32>) {
  // expected-error @+1 {{has a mask that does not broadcast to the scores}}
  %0 = dataflow.attention %q, %k, %v mask %m : (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>, tensor<2x5x7xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @result(%q: tensor<5x8xf32>, %k: tensor<7x8xf32>, %v: tensor<7x4xf32>) {
  // expected-error @+1 {{inferred type(s) 'tensor<5x4xf32>' are incompatible with return type(s) of operation 'tensor<5x7xf32>'}}
  %0 = dataflow.attention %q, %k, %v : (tensor<5x8xf32>, tensor<7x8xf32>, tensor<7x4xf32>) -> tensor<5x7xf32>
  return
}
