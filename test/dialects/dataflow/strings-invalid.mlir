// RUN: sluice-opt %s -split-input-file -verify-diagnostics

func.func @constant() {
  // expected-error @+1 {{has 1 texts for 'tensor<2x!dataflow.string>'}}
  %c = dataflow.string_constant ["a"] : tensor<2x!dataflow.string>
  return
}

// -----

func.func @arithmetic(%x: tensor<2x!dataflow.string>) {
  // expected-error @+1 {{must be ranked tensor of}}
  %y = dataflow.binary add %x, %x : tensor<2x!dataflow.string>, tensor<2x!dataflow.string>
  return
}

// -----

func.func @equal(%x: tensor<2x!dataflow.string>) {
  // expected-error @+1 {{failed to verify that all of {lhs, result} have same shape}}
  %y = dataflow.string_equal %x, %x : tensor<2x!dataflow.string> -> tensor<3xi1>
  return
}

// -----

func.func @find(%x: tensor<2x!dataflow.string>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same shape}}
  %y = dataflow.string_find %x in ["a"] : tensor<2x!dataflow.string> -> tensor<i64>
  return
}

// -----

func.func @normalize(%x: tensor<0x!dataflow.string>) {
  // expected-error @+1 {{must return at most 1 strings and one count, got 'tensor<0x!dataflow.string>' and 'tensor<i64>'}}
  %y, %n = dataflow.string_normalize unchanged %x without [] : (tensor<0x!dataflow.string>) -> (tensor<0x!dataflow.string>, tensor<i64>)
  return
}

// -----

func.func @matrix(%x: tensor<1x2x!dataflow.string>) {
  // expected-error @+1 {{needs an input of rank 1, got 'tensor<1x2x!dataflow.string>'}}
  %y, %n = dataflow.string_normalize unchanged %x without [] : (tensor<1x2x!dataflow.string>) -> (tensor<2x!dataflow.string>, tensor<i64>)
  return
}

// -----

func.func @split(%x: tensor<2x!dataflow.string>) {
  // expected-error @+1 {{has result types that do not match the split of 'tensor<2x!dataflow.string>'}}
  %p, %c, %m = dataflow.string_split %x at "" : (tensor<2x!dataflow.string>) -> (tensor<3x4x!dataflow.string>, tensor<2xi64>, tensor<i64>)
  return
}

// -----

func.func @match(%x: tensor<2x!dataflow.string>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same shape}}
  %y = dataflow.string_match %x by "a*" : tensor<2x!dataflow.string> -> tensor<3xi1>
  return
}

// -----

func.func @number(%x: tensor<2xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of}}
  %y = dataflow.string_from_number %x : tensor<2xf16> -> tensor<2x!dataflow.string>
  return
}

// -----

func.func @image(%x: tensor<9xui8>) {
  // expected-error @+1 {{must return an image of rows, columns and 1 channels for a list of bytes, got 'tensor<9xui8>' and 'tensor<4x4x3xui8>'}}
  %y = dataflow.decode_image grayscale %x : tensor<9xui8> -> tensor<4x4x3xui8>
  return
}
