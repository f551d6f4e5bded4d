// RUN: sluice-opt %s -split-input-file -verify-diagnostics

func.func @one(%x: tensor<8xf32>) {
  // expected-error @+1 {{an axis must have at least two ranks and a stride of at least one, and has count 1 and stride 1}}
  %y = dataflow.all_reduce sum %x over [1:1] : tensor<8xf32>
  return
}

// -----

func.func @stride(%x: tensor<8xf32>) {
  // expected-error @+1 {{an axis must have at least two ranks and a stride of at least one, and has count 2 and stride 0}}
  %y = dataflow.all_reduce sum %x over [2:0] : tensor<8xf32>
  return
}

// -----

func.func @none(%x: tensor<8xf32>) {
  // expected-error @+1 {{a group must have 1 to 8 axes, each with a count and a stride}}
  %y = dataflow.all_reduce sum %x over [] : tensor<8xf32>
  return
}

// -----

func.func @mesh(%x: tensor<8xf32>) {
  // expected-error @+1 {{axes 4:1 and 2:2 (count:stride) cannot belong to one mesh}}
  %y = dataflow.all_reduce sum %x over [4:1, 2:2] : tensor<8xf32>
  return
}

// -----

func.func @many(%x: tensor<8xf32>) {
  // expected-error @+1 {{runs on 2147483647 ranks, at most 1048576 are allowed}}
  %y = dataflow.all_reduce sum %x over [2147483647:1] : tensor<8xf32>
  return
}

// -----

func.func @half(%x: tensor<8xf16>) {
  // expected-error @+1 {{operand #0 must be ranked tensor of 32-bit float or 64-bit float or 32-bit signless integer or 64-bit signless integer values}}
  %y = dataflow.all_reduce sum %x over [2:1] : tensor<8xf16>
  return
}

// -----

func.func @uneven(%x: tensor<6xf32>) {
  // expected-error @+1 {{extent 6 of dimension 0 cannot be divided into 4 equal parts}}
  %y = dataflow.reduce_scatter sum %x dim 0 over [4:1] : tensor<6xf32> -> tensor<2xf32>
  return
}

// -----

func.func @dim(%x: tensor<6xf32>) {
  // expected-error @+1 {{axis 1 is outside rank 1}}
  %y = dataflow.all_gather %x dim 1 over [2:1] : tensor<6xf32> -> tensor<12xf32>
  return
}

// -----

func.func @large(%x: tensor<4611686018427387904x0xf32>) {
  // expected-error @+1 {{dimension 0 is too large when its 4 parts are joined}}
  %y = dataflow.all_gather %x dim 0 over [4:1] : tensor<4611686018427387904x0xf32> -> tensor<0x0xf32>
  return
}

// -----

func.func @result(%x: tensor<8xf32>) {
  // expected-error @+1 {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<2xf32>'}}
  %y = dataflow.shard %x dim 0 over [2:1] : tensor<8xf32> -> tensor<2xf32>
  return
}

// -----

func.func @far(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs 5 and 0 elements of its neighbours, which have only 4}}
  %y = dataflow.halo %x dim 0 low 5 high 0 over [2:1] : tensor<4xf32> -> tensor<9xf32>
  return
}

// -----

func.func @cut() {
  // expected-error @+1 {{cannot divide dimension 0 of 'tensor<6xf32>' into 4 equal parts}}
  %w = dataflow.state "w" cut [#dataflow.cut<0 over [4:1]>] dense<1.0> : tensor<6xf32>
  return
}

// -----

func.func @few(%x: tensor<1xf32>) {
  // expected-error @+1 {{has 2 elements in an uneven dimension for 3 ranks, and each rank needs at least one}}
  %y = dataflow.all_gather %x dim 0 over [3:1] {uneven = #dataflow.uneven<2>} : tensor<1xf32> -> tensor<2xf32>
  return
}

// -----

func.func @room(%x: tensor<3xf32>) {
  // expected-error @+1 {{has extent 3 in dimension 0, and must have the extent of the largest part, 4}}
  %y = dataflow.all_gather %x dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<3xf32> -> tensor<10xf32>
  return
}

// -----

func.func @reach(%x: tensor<4xf32>) {
  // expected-error @+1 {{needs 4 and 0 elements of its neighbours, which have only 3}}
  %y = dataflow.halo %x dim 0 low 4 high 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @within(%x: tensor<2xf32>) {
  // expected-error @+1 {{exchanges elements between some of the ranks that split an uneven dimension, use the group of all ranks}}
  %y = dataflow.halo %x dim 0 low 1 high 0 over [3:1] {uneven = #dataflow.uneven<10 in [2:3]>} : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @one_of_two(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{has only one of the attributes 'uneven_split' and 'uneven_join', give both or none}}
  %y = dataflow.all_to_all %x split 1 join 0 over [3:1] {uneven_join = #dataflow.uneven<10>} : tensor<4x6xf32> -> tensor<10x2xf32>
  return
}

// -----

func.func @itself(%x: tensor<4x6xf32>) {
  // expected-error @+1 {{splits and joins the same uneven dimension, use different dimensions}}
  %y = dataflow.all_to_all %x split 0 join 0 over [3:1] {uneven_join = #dataflow.uneven<10>, uneven_split = #dataflow.uneven<10>} : tensor<4x6xf32> -> tensor<4x6xf32>
  return
}

// -----

func.func @empty(%x: tensor<4xf32>) {
  // expected-error @+1 {{an uneven dimension must have at least one element, and has 0}}
  %y = dataflow.all_gather %x dim 0 over [3:1] {uneven = #dataflow.uneven<0>} : tensor<4xf32> -> tensor<0xf32>
  return
}

// -----

func.func @peer(%x: tensor<4xf32>) {
  // expected-error @+1 {{has the peer rank -1, which is out of range, give one from 0 to 1048575}}
  %sent = dataflow.send %x to -1 : tensor<4xf32>
  return
}

// -----

func.func @far() {
  // expected-error @+1 {{has the peer rank 1048576, which is out of range, give one from 0 to 1048575}}
  %y = dataflow.receive from 1048576 : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{attribute 'dataflow.rank' is -1 : i64, write the number of a rank from 0 to 1048575, such as 2 : i64}}
func.func @rank() attributes {dataflow.rank = -1 : i64} {
  return
}
