// RUN: sluice-opt %s --dataflow-partition -split-input-file -verify-diagnostics

// expected-error @+1 {{operator 'unary' has no rule 'rows', attribute 'dataflow.rules', use 'replicated' or 'dim 0'}}
func.func @rule(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x {dataflow.rules = ["rows"]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{operator 'unary' must have 2 rules, attribute 'dataflow.rules', name one for each axis of the mesh}}
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2, 2>} {
  %y = dataflow.unary tanh %x {dataflow.rules = ["dim 0"]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x' must have a tiling for each of the 1 axes of the mesh, attribute 'dataflow.tiling', write 'R', or 'S' and a dimension, for each axis}}
func.func @held(%x: tensor<8xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S0, R>}) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x' of extent 3 in dimension 0 is split in 4 parts, attributes 'dataflow.mesh' and 'dataflow.tiling', correct the program}}
func.func @few(%x: tensor<3xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S0>}) -> tensor<3xf32> attributes {dataflow.mesh = array<i64: 4>} {
  %y = dataflow.unary tanh %x : tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// expected-error @+1 {{tensor 'w' of extent 6 in dimension 0 is split in 4}}
func.func @state(%x: tensor<6xf32>) -> tensor<6xf32> attributes {dataflow.mesh = array<i64: 4>} {
  %w = dataflow.state "w" trainable {dataflow.tiling = [#dataflow.tiling<S0>]} dense<1.0> : tensor<6xf32>
  %y = dataflow.binary mul %x, %w : tensor<6xf32>, tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error @+1 {{tensor 'x'}}
func.func @dimension(%x: tensor<6xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S7>}) -> tensor<6xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x : tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.mesh' is array<i64: 0>, write the sizes of the axes of the mesh, such as array<i64: 2, 4>}}
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 0>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.mesh' is "2x2", write the sizes of the axes of the mesh, such as array<i64: 2, 4>}}
func.func @mesh(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = "2x2"} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.tiling' is "S0", write #dataflow.tiling<S0, R>}}
func.func @text(%x: tensor<8xf32> {dataflow.tiling = "S0"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @list(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{attribute 'dataflow.tiling' is #dataflow.tiling<S0>, write a list with an entry for each result, such as [#dataflow.tiling<S0, R>]}}
  %y = dataflow.unary tanh %x {dataflow.tiling = #dataflow.tiling<S0>} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 'R' (replicated), or 'S' and a dimension such as 'S0' (split)}}
func.func @letter(%x: tensor<8xf32> {dataflow.tiling = #dataflow.tiling<D0>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x' of extent 8 in dimension 0 is split in 2 parts of 3 blocks each}}
func.func @blocks(%x: tensor<8xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S0 in 3>}) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x' is split along one dimension in different numbers of blocks}}
func.func @mixed(%x: tensor<8xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S0, S0 in 2>}) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2, 2>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected 2 to 31 blocks}}
func.func @many(%x: tensor<8xf32> {dataflow.name = "x", dataflow.tiling = #dataflow.tiling<S0 in 32>}) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  return %x : tensor<8xf32>
}
