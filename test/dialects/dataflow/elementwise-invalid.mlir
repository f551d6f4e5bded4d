// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @kind_of_float(%x: tensor<3xi32>) {
  // expected-error @+1 {{'tanh' needs float elements, got 'i32'}}
  %0 = dataflow.unary tanh %x : tensor<3xi32>
  return
}

// -----

func.func @kind_of_integer(%x: tensor<3xf32>) {
  // expected-error @+1 {{'bitwise_not' needs integer elements, got 'f32'}}
  %0 = dataflow.unary bitwise_not %x : tensor<3xf32>
  return
}

// -----

func.func @kind_of_bool(%x: tensor<3xi8>) {
  // expected-error @+1 {{'logical_not' needs bool elements, got 'i8'}}
  %0 = dataflow.unary logical_not %x : tensor<3xi8>
  return
}

// -----

func.func @element_type(%x: tensor<3xcomplex<f32>>) {
  // expected-error @+1 {{operand #0 must be ranked tensor}}
  %0 = dataflow.unary neg %x : tensor<3xcomplex<f32>>
  return
}

// -----

func.func @shapes(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{operand shapes do not broadcast to each other}}
  %0 = dataflow.binary add %x, %y : tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @elements(%x: tensor<3xf32>, %y: tensor<3xf64>) {
  // expected-error @+1 {{operands have different element types, 'f32' and 'f64'}}
  %0 = dataflow.binary add %x, %y : tensor<3xf32>, tensor<3xf64>
  return
}

// -----

func.func @sum_of_bools(%x: tensor<3xi1>) {
  // expected-error @+1 {{'add' is not defined on bool}}
  %0 = dataflow.binary add %x, %x : tensor<3xi1>, tensor<3xi1>
  return
}

// -----

func.func @shift_of_floats(%x: tensor<3xf32>) {
  // expected-error @+1 {{'shift_left' needs integer elements, got 'f32'}}
  %0 = dataflow.binary shift_left %x, %x : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @and_of_integers(%x: tensor<3xi32>) {
  // expected-error @+1 {{'logical_and' needs bool elements, got 'i32'}}
  %0 = dataflow.binary logical_and %x, %x : tensor<3xi32>, tensor<3xi32>
  return
}

// -----

func.func @comparison(%x: tensor<3xi32>, %y: tensor<3xui32>) {
  // expected-error @+1 {{operands have different element types, 'i32' and 'ui32'}}
  %0 = dataflow.compare eq %x, %y : tensor<3xi32>, tensor<3xui32>
  return
}

// -----

func.func @choice(%c: tensor<3xi1>, %x: tensor<3xi32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{operands have different element types, 'i32' and 'f32'}}
  %0 = dataflow.select %c, %x, %y : tensor<3xi1>, tensor<3xi32>, tensor<3xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<3xi32>) {
  // expected-error @+1 {{result shape differs from that of the input}}
  %0 = dataflow.cast %x : tensor<3xi32> -> tensor<4xf32>
  return
}

// -----

func.func @unknown_kind(%x: tensor<3xf32>) {
  // expected-error @+2 {{to be one of: abs, neg, exp}}
  // expected-error @+1 {{failed to parse Dataflow_UnaryKindAttr}}
  %0 = dataflow.unary frobnicate %x : tensor<3xf32>
  return
}

// -----

func.func @unknown_extent(%x: tensor<?x3xf32>) {
  // expected-error @+1 {{an operand has an unknown extent, give every dimension a size}}
  %0 = dataflow.unary tanh %x : tensor<?x3xf32>
  return
}

// -----

func.func @no_tensor(%c: tensor<i1>, %x: tensor<i32>, %y: i32) {
  // expected-error @+1 {{an operand has type 'i32', give it a tensor type with a rank}}
  %0 = dataflow.select %c, %x, %y : tensor<i1>, tensor<i32>, i32
  return
}
