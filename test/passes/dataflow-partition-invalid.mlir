// RUN: sluice-opt %s --dataflow-partition -split-input-file -verify-diagnostics

// expected-error @+1 {{operator 'unary' has no such rule, attribute 'dataflow.rules', use one of 'replicated', 'dim 0'}}
func.func @rule(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x {dataflow.rules = ["rows"]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{operator 'unary' does not have 2 rules, attribute 'dataflow.rules', name one for each of the mesh's axes}}
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2, 2>} {
  %y = dataflow.unary tanh %x {dataflow.rules = ["dim 0"]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x' is held in no way that there is, write 'R' or 'S' and a dimension for each of the mesh's 1 axes}}
func.func @held(%x: tensor<8xf32> {dataflow.name = "x", dataflow.tiling = "S"}) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{tensor 'x'}}
func.func @uneven(%x: tensor<6xf32> {dataflow.name = "x", dataflow.tiling = "S0"}) -> tensor<6xf32> attributes {dataflow.mesh = array<i64: 4>} {
  %y = dataflow.unary tanh %x : tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error @+1 {{tensor 'x'}}
func.func @dimension(%x: tensor<6xf32> {dataflow.name = "x", dataflow.tiling = "S7"}) -> tensor<6xf32> attributes {dataflow.mesh = array<i64: 2>} {
  %y = dataflow.unary tanh %x : tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// expected-error @+1 {{axis 'axis0' has 0 devices}}
func.func @none(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = array<i64: 0>} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{a mesh has 1 to}}
func.func @mesh(%x: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.mesh = "2x2"} {
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
