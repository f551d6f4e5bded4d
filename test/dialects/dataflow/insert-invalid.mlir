// RUN: sluice-opt %s --split-input-file --verify-diagnostics

func.func @rank(%cache: tensor<16x4xf32>, %rows: tensor<4xf32>, %start: tensor<i64>) -> tensor<16x4xf32> {
  // expected-error @+1 {{cannot insert 'tensor<4xf32>' into 'tensor<16x4xf32>' along dimension 0}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16x4xf32>, tensor<4xf32>, tensor<i64> -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

func.func @dim(%cache: tensor<16xf32>, %rows: tensor<4xf32>, %start: tensor<i64>) -> tensor<16xf32> {
  // expected-error @+1 {{along dimension 1}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 1 : i64} : tensor<16xf32>, tensor<4xf32>, tensor<i64> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @element(%cache: tensor<16xf32>, %rows: tensor<4xi64>, %start: tensor<i64>) -> tensor<16xf32> {
  // expected-error @+1 {{cannot insert 'tensor<4xi64>' into 'tensor<16xf32>' along dimension 0}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16xf32>, tensor<4xi64>, tensor<i64> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @larger(%cache: tensor<16xf32>, %rows: tensor<17xf32>, %start: tensor<i64>) -> tensor<16xf32> {
  // expected-error @+1 {{which differ in dimension 0}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16xf32>, tensor<17xf32>, tensor<i64> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @other(%cache: tensor<16x4xf32>, %rows: tensor<2x3xf32>, %start: tensor<i64>) -> tensor<16x4xf32> {
  // expected-error @+1 {{which differ in dimension 1}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16x4xf32>, tensor<2x3xf32>, tensor<i64> -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

func.func @start(%cache: tensor<16xf32>, %rows: tensor<4xf32>, %start: tensor<1xi64>) -> tensor<16xf32> {
  // expected-error @+1 {{has a start of 'tensor<1xi64>', give one integer}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16xf32>, tensor<4xf32>, tensor<1xi64> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

func.func @result(%cache: tensor<16xf32>, %rows: tensor<4xf32>, %start: tensor<i64>) -> tensor<20xf32> {
  // expected-error @+1 {{must return 'tensor<16xf32>', the type of its first operand, got 'tensor<20xf32>'}}
  %0 = dataflow.insert %cache, %rows at %start {dim = 0 : i64} : tensor<16xf32>, tensor<4xf32>, tensor<i64> -> tensor<20xf32>
  return %0 : tensor<20xf32>
}

// -----

func.func @length() -> (tensor<16xf32> {dataflow.updates = "past"}) {
  // expected-error @+1 {{has the length}}
  %0 = dataflow.state "past" length <()[s0] -> (s0 + 1, s0 + 4), <"past" = 0 to 12>> dense<0.0> : tensor<16xf32>
  %1 = dataflow.copy %0 : tensor<16xf32>
  return %1 : tensor<16xf32>
}
