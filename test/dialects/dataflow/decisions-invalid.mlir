// RUN: sluice-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{attribute 'dataflow.ranks' is 0 : i64, write a number of ranks from 1 to 1048576, such as 4 : i64}}
func.func @main() attributes {dataflow.ranks = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.ranks' is "two", write a number of ranks from 1 to 1048576, such as 4 : i64}}
func.func @main() attributes {dataflow.ranks = "two"} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.ranks' is 2097152 : i64, write a number of ranks from 1 to 1048576, such as 4 : i64}}
func.func @main() attributes {dataflow.ranks = 2097152 : i64} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.mesh' is array<i64: 2, -1>, write the sizes of the axes of the mesh, such as array<i64: 2, 4>}}
func.func @main() attributes {dataflow.mesh = array<i64: 2, -1>} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.pruned' is [3], write a list with a dictionary for each pruned layer}}
func.func @main() attributes {dataflow.pruned = [3 : i64]} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.kernel' is 4 : i64, write no value}}
func.func @main() attributes {dataflow.kernel = 4 : i64} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.shared' is -1 : i64, write a number of at least 0, such as 0 : i64}}
func.func @main() attributes {dataflow.shared = -1 : i64} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.operator' is 7 : i64, write a string}}
func.func @main() attributes {dataflow.operator = 7 : i64} {
  return
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.order' is -1 : i64, write the position of an operator, such as 0 : i64}}
  %0 = dataflow.unary tanh %x {dataflow.order = -1 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.rules' is "rows", write a list with the name of a rule for each axis of the mesh, such as ["rows"]}}
  %0 = dataflow.unary tanh %x {dataflow.rules = "rows"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.memory' is 3 : i64, write a string, or a list with a string for each result}}
  %0 = dataflow.unary tanh %x {dataflow.memory = 3 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.memory' is [3], write a string, or a list with a string for each result}}
  %0 = dataflow.unary tanh %x {dataflow.memory = [3]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.name' is 5 : i64, write a string}}
func.func @main(%x: tensor<4xf32> {dataflow.name = 5 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{attribute 'dataflow.tuning' is 7 : i64, write #dataflow.tuning<kernel = "KEY", rows = 7>, only on a conv or matmul}}
  %0 = dataflow.matmul %x, %x {dataflow.tuning = 7 : i64} : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{attribute 'dataflow.tuning' is #dataflow.tuning<kernel = "k", rows = 7>, write #dataflow.tuning<kernel = "KEY", rows = 7>, only on a conv or matmul}}
  %0 = dataflow.unary tanh %x {dataflow.tuning = #dataflow.tuning<kernel = "k", rows = 7>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{vectors of a kernel's tuning is 5, write 0 to 4}}
  %0 = dataflow.matmul %x, %x {dataflow.tuning = #dataflow.tuning<kernel = "k", vectors = 5>} : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{chunk_ns of a kernel's tuning is -1, write 0 to 1099511627776}}
  %0 = dataflow.matmul %x, %x {dataflow.tuning = #dataflow.tuning<kernel = "k", chunk_ns = -1>} : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{attribute 'dataflow.tuning' is #dataflow.tuning<kernel = "k", algorithm = winograd2>, write the attribute without 'algorithm', which only convolutions have}}
  %0 = dataflow.matmul %x, %x {dataflow.tuning = #dataflow.tuning<kernel = "k", algorithm = winograd2>} : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.tuning' is #dataflow.tuning<kernel = "k", rows = 7>, write #dataflow.tuning<kernel = "KEY", rows = 7>, only on a conv or matmul}}
func.func @main(%x: tensor<8x8xf32> {dataflow.tuning = #dataflow.tuning<kernel = "k", rows = 7>}) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.tuning' is #dataflow.tuning<kernel = "k", rows = 7>, write #dataflow.tuning<kernel = "KEY", rows = 7>, only on a conv or matmul}}
func.func @main(%x: tensor<8x8xf32>) -> (tensor<8x8xf32> {dataflow.tuning = #dataflow.tuning<kernel = "k", rows = 7>}) {
  return %x : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.time' is 3 : i64, write a string}}
  %0 = dataflow.unary tanh %x {dataflow.time = 3 : i64} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.expert_slots' is 0 : i64, write a number of at least 1, such as 2 : i64}}
func.func @main() attributes {dataflow.expert_slots = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.expert_hit_rate' is 1.500000e+00 : f64, write a rate from 0 to 1, such as 0.5 : f64}}
func.func @main() attributes {dataflow.expert_hit_rate = 1.5 : f64} {
  return
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.expert' is -1 : i64, write no value}}
  %y = dataflow.unary abs %x {dataflow.expert = -1 : i64} : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'dataflow.choices' is "two", write a number of at least 1, such as 2 : i64}}
  %y = dataflow.unary abs %x {dataflow.choices = "two"} : tensor<4xf32>
  return %y : tensor<4xf32>
}
