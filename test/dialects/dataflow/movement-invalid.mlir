// RUN: sluice-opt %s -verify-diagnostics -split-input-file

func.func @permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'permutation' is not a permutation of 0..1}}
  %0 = dataflow.transpose %x [0, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @permutation_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{permutation has 3 entries, and the input has rank 2}}
  %0 = dataflow.transpose %x [0, 1, 2] : tensor<2x3xf32>
  return
}

// -----

func.func @element_count(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{has 6 elements in the input and 7 in the result}}
  %0 = dataflow.reshape %x : tensor<2x3xf32> -> tensor<7xf32>
  return
}

// -----

func.func @element_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{changes the element type, from 'f32' to 'i32'}}
  %0 = dataflow.reshape %x : tensor<2x3xf32> -> tensor<6xi32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{input does not broadcast to the shape of the result}}
  %0 = dataflow.expand %x : tensor<2x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @repeats(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{extent 7 of dimension 1 is not a multiple of the input's extent 3}}
  %0 = dataflow.tile %x : tensor<2x3xf32> -> tensor<2x7xf32>
  return
}

// -----

func.func @step(%x: tensor<8xf32>) {
  // expected-error @+1 {{step of dimension 0 is 0}}
  %0 = dataflow.slice %x from [0] by [0] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @slice_end(%x: tensor<8xf32>) {
  // expected-error @+1 {{reads outside dimension 0 of extent 8}}
  %0 = dataflow.slice %x from [2] by [3] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

// The last index overflows 64 bits.
func.func @slice_far(%x: tensor<8xf32>) {
  // expected-error @+1 {{reads outside dimension 0 of extent 8}}
  %0 = dataflow.slice %x from [2] by [9223372036854775807] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @concat_extents(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  // expected-error @+1 {{concat operands differ in dimension 0: 2 and 3}}
  %0 = dataflow.concat %x, %y {axis = 1 : i64} : tensor<2x3xf32>, tensor<3x3xf32> -> tensor<2x6xf32>
  return
}

// -----

func.func @reflection(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{reflects more elements than the 3 of dimension 0}}
  %0 = dataflow.pad reflect %x, %v low [3] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @nothing_to_repeat(%x: tensor<0xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{dimension 0 is empty and has no element to pad with}}
  %0 = dataflow.pad edge %x, %v low [1] : (tensor<0xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @range_rank(%x: tensor<i64>) {
  // expected-error @+1 {{result must have rank 1}}
  %0 = dataflow.range %x, %x : (tensor<i64>, tensor<i64>) -> tensor<2x2xi64>
  return
}

// -----

// The axis is checked before the extents along it.
func.func @gather_axis(%d: tensor<5x7xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{axis -2 is outside rank 2}}
  %0 = "dataflow.gather"(%d, %i) <{axis = -2 : i64}> : (tensor<5x7xf32>, tensor<3xi64>) -> tensor<3x7xf32>
  return
}

// -----

func.func @gather_nothing(%d: tensor<0x7xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{gathers from an empty dimension}}
  %0 = dataflow.gather %d, %i {axis = 0 : i64} : tensor<0x7xf32>, tensor<3xi64> -> tensor<3x7xf32>
  return
}

// -----

func.func @gather_elements_rank(%d: tensor<5x7xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{data and indices differ in rank}}
  %0 = dataflow.gather_elements %d, %i {axis = 0 : i64} : tensor<5x7xf32>, tensor<3xi64> -> tensor<3xf32>
  return
}

// -----

func.func @tuples(%d: tensor<5x7xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{index tuples of 3 entries exceed the rank of data}}
  %0 = dataflow.gather_nd %d, %i : tensor<5x7xf32>, tensor<4x3xi64> -> tensor<4xf32>
  return
}

// -----

func.func @updates(%d: tensor<5x7xf32>, %i: tensor<3x7xi64>, %u: tensor<3x6xf32>) {
  // expected-error @+1 {{indices and updates must have the same shape, and the rank of data}}
  %0 = dataflow.scatter_elements none %d, %i, %u {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64>, tensor<3x6xf32> -> tensor<5x7xf32>
  return
}

// -----

func.func @update_shape(%d: tensor<5x7xf32>, %i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  // expected-error @+1 {{shape of updates does not match data and indices}}
  %0 = dataflow.scatter_nd none %d, %i, %u : tensor<5x7xf32>, tensor<4x1xi64>, tensor<4xf32> -> tensor<5x7xf32>
  return
}

// -----

func.func @on_off(%i: tensor<3xi64>, %v: tensor<3xf32>) {
  // expected-error @+1 {{values must have two elements, [off, on]}}
  %0 = dataflow.one_hot %i, %v {axis = 0 : i64, depth = 4 : i64} : tensor<3xi64>, tensor<3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @removes_all(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{removes more elements than the 3 of dimension 0}}
  %0 = dataflow.pad constant %x, %v low [-9223372036854775808] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  return
}
