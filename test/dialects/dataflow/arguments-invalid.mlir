// RUN: sluice-opt %s --split-input-file --verify-diagnostics

// A value that the model was compiled for has the argument's type: its bytes are compared with the input's.
// expected-error @+1 {{attribute 'dataflow.fixed' is dense<1.000000e+00> : tensor<3xf32>, write elements of the argument's type}}
func.func @fixed(%x: tensor<8xf32> {dataflow.fixed = dense<1.0> : tensor<3xf32>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.range' is array<i64: 1>, write array<i64: LEAST, GREATEST, OTHER>}}
func.func @range(%x: tensor<8xi64> {dataflow.range = array<i64: 1>}) -> tensor<8xi64> {
  return %x : tensor<8xi64>
}

// -----

// expected-error @+1 {{attribute 'dataflow.name' is 1 : i64, write a string}}
func.func @inputName(%x: tensor<8xf32> {dataflow.name = 1 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.name' is 1 : i64, write a string}}
func.func @outputName(%x: tensor<8xf32>) -> (tensor<8xf32> {dataflow.name = 1 : i64}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{attribute 'dataflow.updates' is unit, write a string}}
func.func @updates(%x: tensor<8xf32>) -> (tensor<8xf32> {dataflow.updates}) {
  return %x : tensor<8xf32>
}
