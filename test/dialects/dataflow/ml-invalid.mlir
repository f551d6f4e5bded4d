// RUN: sluice-opt %s -split-input-file -verify-diagnostics

func.func @kind(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must combine by sum, max or min}}
  %y = dataflow.tree_ensemble mean %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @rows(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must return a row of targets for each row of features, got 'tensor<5x2xf32>' and 'tensor<4x1xf32>'}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @types(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf64>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must have features, thresholds, weights and results of one element type, got 'tensor<5x2xf32>', 'tensor<2xf64>'}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf64>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @branches(%x: tensor<5x2xf32>, %n: tensor<2x2xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must have a feature, two branches and a threshold for each node, got 'tensor<2x2xi32>' and 'tensor<2xf32>'}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x2xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @weights(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<2xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must have a list of roots, a list of the starts of leaves, and a target for each weight}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<2xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @none(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{must have either one test for all nodes or a list of tests}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @both(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>, %tests: tensor<2xui8>) {
  // expected-error @+1 {{must have either one test for all nodes or a list of tests}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w tests %tests {test = 5 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<2xui8>) -> tensor<5x1xf32>
  return
}

// -----

func.func @bits(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{has test 16, which is not a sum of 1, 2, 4 and 8}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w {test = 16 : i64}
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>) -> tensor<5x1xf32>
  return
}

// -----

func.func @tests(%x: tensor<5x2xf32>, %n: tensor<2x3xi32>, %t: tensor<2xf32>, %r: tensor<1xi32>, %l: tensor<4xi32>, %g: tensor<3xi32>, %w: tensor<3xf32>, %tests: tensor<3xui8>) {
  // expected-error @+1 {{has 'tensor<3xui8>' in 'tests' for 2 nodes, and must have one test for each node}}
  %y = dataflow.tree_ensemble sum %x nodes %n, %t roots %r leaves %l, %g, %w tests %tests
    : (tensor<5x2xf32>, tensor<2x3xi32>, tensor<2xf32>, tensor<1xi32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3xui8>) -> tensor<5x1xf32>
  return
}

// -----

func.func @pairs(%p: tensor<5x5xf32>) {
  // expected-error @+1 {{must make K probabilities of K * (K - 1) / 2 pairs, got 'tensor<5x5xf32>' and 'tensor<5x4xf32>'}}
  %y = dataflow.couple_probabilities %p : tensor<5x5xf32> -> tensor<5x4xf32>
  return
}
