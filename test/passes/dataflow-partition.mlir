// RUN: sluice-opt %s --dataflow-partition --dataflow-simplify -split-input-file | FileCheck %s

// A layer split by columns, then one by rows: one all-reduce (Megatron).
// CHECK-LABEL: func.func @megatron
// CHECK-SAME: attributes {dataflow.ranks = 4 : i64}
func.func @megatron(%x: tensor<8x16xf32>, %w: tensor<16x32xf32> {dataflow.tiling = #dataflow.tiling<S1>},
                    %v: tensor<32x8xf32> {dataflow.tiling = #dataflow.tiling<S0>}) -> tensor<8x8xf32> attributes {dataflow.mesh = array<i64: 4>} {
  // CHECK: %[[W:.*]] = dataflow.shard %arg1 dim 1 over [4:1] : tensor<16x32xf32> -> tensor<16x8xf32>
  // CHECK: %[[H:.*]] = dataflow.matmul %arg0, %[[W]] : tensor<8x16xf32>, tensor<16x8xf32>
  // CHECK: %[[V:.*]] = dataflow.shard %arg2 dim 0 over [4:1] : tensor<32x8xf32> -> tensor<8x8xf32>
  // CHECK: %[[P:.*]] = dataflow.matmul %[[H]], %[[V]] : tensor<8x8xf32>, tensor<8x8xf32>
  // CHECK: %[[Y:.*]] = dataflow.all_reduce sum %[[P]] over [4:1] : tensor<8x8xf32>
  // CHECK: return %[[Y]]
  %h = dataflow.matmul %x, %w {dataflow.rules = ["columns"], dataflow.tiling = [#dataflow.tiling<S1>]} : tensor<8x16xf32>, tensor<16x32xf32>
  %y = dataflow.matmul %h, %v {dataflow.rules = ["contraction"]} : tensor<8x32xf32>, tensor<32x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Data parallel on one axis, weights cut on the other: the weight is gathered once for both who read it whole.
// CHECK-LABEL: func.func @mesh
func.func @mesh(%x: tensor<8x4xf32> {dataflow.tiling = #dataflow.tiling<S0, R>}) -> (tensor<8x4xf32>, tensor<4x4xf32> {dataflow.updates = "w"})
    attributes {dataflow.mesh = array<i64: 2, 2>} {
  // CHECK: %[[W:.*]] = dataflow.state "w" trainable cut [#dataflow.cut<0 over [2:1]>] {{.*}} : tensor<4x4xf32>
  // CHECK: %[[ALL:.*]] = dataflow.all_gather %[[W]] dim 0 over [2:1] : tensor<2x4xf32> -> tensor<4x4xf32>
  // CHECK-NOT: all_gather %[[W]]
  // CHECK: dataflow.matmul %{{.*}}, %[[ALL]] : tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK: dataflow.matmul %{{.*}}, %[[ALL]] : tensor<4x4xf32>, tensor<4x4xf32>
  // CHECK: %[[NEXT:.*]] = dataflow.unary tanh %[[W]] : tensor<2x4xf32>
  // CHECK: %[[Y:.*]] = dataflow.all_gather %{{.*}} dim 0 over [2:2] : tensor<4x4xf32> -> tensor<8x4xf32>
  // CHECK: return %[[Y]], %[[NEXT]] : tensor<8x4xf32>, tensor<2x4xf32>
  %w = dataflow.state "w" trainable {dataflow.tiling = [#dataflow.tiling<R, S0>]} dense<1.0> : tensor<4x4xf32>
  %y = dataflow.matmul %x, %w {dataflow.rules = ["rows", "replicated"], dataflow.tiling = [#dataflow.tiling<S0, R>]} : tensor<8x4xf32>, tensor<4x4xf32>
  %z = dataflow.matmul %y, %w {dataflow.rules = ["rows", "replicated"], dataflow.tiling = [#dataflow.tiling<S0, R>]} : tensor<8x4xf32>, tensor<4x4xf32>
  %n = dataflow.unary tanh %w {dataflow.rules = ["replicated", "dim 0"], dataflow.tiling = [#dataflow.tiling<R, S0>]} : tensor<4x4xf32>
  return %z, %n : tensor<8x4xf32>, tensor<4x4xf32>
}

// -----

// An image split in space: what windows reach over comes from the neighbours, and is the padding at the ends.
// CHECK-LABEL: func.func @halo
func.func @halo(%x: tensor<1x2x8x8xf32> {dataflow.tiling = #dataflow.tiling<S2>}, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
    attributes {dataflow.mesh = array<i64: 2>} {
  // CHECK: %[[H:.*]] = dataflow.halo %{{.*}} dim 2 low 1 high 1 over [2:1] : tensor<1x2x4x8xf32> -> tensor<1x2x6x8xf32>
  // CHECK: dataflow.conv %[[H]], %arg1 strides [1, 1] pads [0, 1, 0, 1]
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {dataflow.rules = ["spatial 0"], dataflow.tiling = [#dataflow.tiling<S2>]} : tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x8x8xf32>
  // CHECK: dataflow.halo %{{.*}} dim 2 low 1 high 0 lowest over [2:1]
  %p = dataflow.pool max %y kernel [3, 3] strides [2, 2] pads [1, 1] to [0, 0] dilations [1, 1] {dataflow.rules = ["spatial 0"], dataflow.tiling = [#dataflow.tiling<S2>]} : tensor<1x2x8x8xf32> -> tensor<1x2x4x4xf32>
  %e = dataflow.conv %y, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x8x8xf32>
  %m = dataflow.reduce max %p axes [1, 2, 3] {keep_dims = true} : tensor<1x2x4x4xf32> -> tensor<1x1x1x1xf32>
  %s = dataflow.binary add %e, %m : tensor<1x2x8x8xf32>, tensor<1x1x1x1xf32>
  return %s : tensor<1x2x8x8xf32>
}

// -----

// Ten rows on three ranks: 3, 3 and 4. The sum over rows counts zeros in the place of a fourth row, where there is none.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<10x7xf32> {dataflow.tiling = #dataflow.tiling<S0>}, %w: tensor<7x5xf32>) -> (tensor<10x5xf32>, tensor<5xf32>)
    attributes {dataflow.mesh = array<i64: 3>} {
  // CHECK: %[[X:.*]] = dataflow.shard %arg0 dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<10x7xf32> -> tensor<4x7xf32>
  // CHECK: %[[Y:.*]] = dataflow.matmul %[[X]], %arg1 : tensor<4x7xf32>, tensor<7x5xf32>
  // CHECK: %[[OWN:.*]] = dataflow.compare lt
  // CHECK: %[[ROWS:.*]] = dataflow.select %[[OWN]], %[[Y]], %{{.*}} : tensor<4x1xi1>, tensor<4x5xf32>, tensor<f32>
  // CHECK: %[[PART:.*]] = dataflow.reduce sum %[[ROWS]] axes [0] : tensor<4x5xf32> -> tensor<5xf32>
  // CHECK: dataflow.all_reduce sum %[[PART]] over [3:1] : tensor<5xf32>
  // CHECK: dataflow.all_gather %[[Y]] dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x5xf32> -> tensor<10x5xf32>
  %y = dataflow.matmul %x, %w {dataflow.rules = ["rows"], dataflow.tiling = [#dataflow.tiling<S0>]} : tensor<10x7xf32>, tensor<7x5xf32>
  %s = dataflow.reduce sum %y axes [0] {dataflow.rules = ["dim 0"]} : tensor<10x5xf32> -> tensor<5xf32>
  return %y, %s : tensor<10x5xf32>, tensor<5xf32>
}

// -----

// Without a mesh nothing changes.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: dataflow.ranks
func.func @alone(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: dataflow.unary tanh %arg0 : tensor<8xf32>
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Queries and keys in one matrix, split by heads: each rank has the columns of its heads of both.
// CHECK-LABEL: func.func @fused
func.func @fused(%x: tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<4x16xf32> {dataflow.updates = "w"})
    attributes {dataflow.mesh = array<i64: 2>} {
  // CHECK: %[[W:.*]] = dataflow.state "w" trainable cut [#dataflow.cut<1 in 2 over [2:1]>] {{.*}} : tensor<4x16xf32>
  // CHECK: %[[H:.*]] = dataflow.matmul %arg0, %[[W]] : tensor<8x4xf32>, tensor<4x8xf32>
  // CHECK-NOT: all_gather
  // CHECK: %[[Q:.*]] = dataflow.slice %[[H]] from [0, 0] by [1, 1] : tensor<8x8xf32> -> tensor<8x4xf32>
  // CHECK: %[[K:.*]] = dataflow.slice %[[H]] from [0, 4] by [1, 1] : tensor<8x8xf32> -> tensor<8x4xf32>
  // CHECK: %[[S:.*]] = dataflow.binary mul %[[Q]], %[[K]] : tensor<8x4xf32>
  // CHECK: dataflow.all_gather %[[S]] dim 1 over [2:1] : tensor<8x4xf32> -> tensor<8x8xf32>
  %w = dataflow.state "w" trainable {dataflow.tiling = [#dataflow.tiling<S1 in 2>]} dense<1.0> : tensor<4x16xf32>
  %h = dataflow.matmul %x, %w {dataflow.rules = ["columns in 2 blocks"], dataflow.tiling = [#dataflow.tiling<S1 in 2>]} : tensor<8x4xf32>, tensor<4x16xf32>
  %q = dataflow.slice %h from [0, 0] by [1, 1] {dataflow.rules = ["dim 1 in 2 blocks"], dataflow.tiling = [#dataflow.tiling<S1>]} : tensor<8x16xf32> -> tensor<8x8xf32>
  %k = dataflow.slice %h from [0, 8] by [1, 1] {dataflow.rules = ["dim 1 in 2 blocks"], dataflow.tiling = [#dataflow.tiling<S1>]} : tensor<8x16xf32> -> tensor<8x8xf32>
  %s = dataflow.binary mul %q, %k {dataflow.rules = ["dim 1"], dataflow.tiling = [#dataflow.tiling<S1>]} : tensor<8x8xf32>, tensor<8x8xf32>
  %n = dataflow.unary tanh %w {dataflow.rules = ["dim 1 in 2 blocks"], dataflow.tiling = [#dataflow.tiling<S1 in 2>]} : tensor<4x16xf32>
  return %s, %n : tensor<8x8xf32>, tensor<4x16xf32>
}

// -----

// A part of two blocks is gathered as one of a dimension of its own.
// CHECK-LABEL: func.func @gathered
func.func @gathered(%x: tensor<8x12xf32> {dataflow.tiling = #dataflow.tiling<S1 in 3>}) -> tensor<8x12xf32>
    attributes {dataflow.mesh = array<i64: 2>} {
  // CHECK: %[[B:.*]] = dataflow.reshape %arg0 : tensor<8x12xf32> -> tensor<8x3x4xf32>
  // CHECK: %[[OWN:.*]] = dataflow.shard %[[B]] dim 2 over [2:1] : tensor<8x3x4xf32> -> tensor<8x3x2xf32>
  // CHECK: %[[ALL:.*]] = dataflow.all_gather %{{.*}} dim 2 over [2:1] : tensor<8x3x2xf32> -> tensor<8x3x4xf32>
  // CHECK: dataflow.reshape %[[ALL]] : tensor<8x3x4xf32> -> tensor<8x12xf32>
  %s = dataflow.slice %x from [0, 0] by [1, 1] : tensor<8x12xf32> -> tensor<8x4xf32>
  %t = dataflow.slice %x from [0, 4] by [1, 1] : tensor<8x12xf32> -> tensor<8x4xf32>
  %u = dataflow.slice %x from [0, 8] by [1, 1] : tensor<8x12xf32> -> tensor<8x4xf32>
  %a = dataflow.binary add %s, %t : tensor<8x4xf32>, tensor<8x4xf32>
  %b = dataflow.binary add %a, %u : tensor<8x4xf32>, tensor<8x4xf32>
  %y = dataflow.unary tanh %x {dataflow.rules = ["dim 1 in 3 blocks"], dataflow.tiling = [#dataflow.tiling<S1 in 3>]} : tensor<8x12xf32>
  %c = dataflow.concat %b, %b, %b {axis = 1 : i64} : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x12xf32>
  %z = dataflow.binary add %y, %c : tensor<8x12xf32>, tensor<8x12xf32>
  return %z : tensor<8x12xf32>
}
