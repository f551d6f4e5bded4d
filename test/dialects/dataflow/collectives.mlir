// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @exchange
func.func @exchange(%x: tensor<8x6xf32>, %h: tensor<8x6xf16>) -> (tensor<8x6xf32>, tensor<2x6xf32>, tensor<32x6xf32>, tensor<4x12xf32>, tensor<8x3xf16>, tensor<8x9xf16>) {
  // CHECK: dataflow.all_reduce sum %{{.*}} over [2:4, 2:1] : tensor<8x6xf32>
  %a = dataflow.all_reduce sum %x over [2:4, 2:1] : tensor<8x6xf32>
  // CHECK: dataflow.reduce_scatter max %{{.*}} dim 0 over [4:1] : tensor<8x6xf32> -> tensor<2x6xf32>
  %b = dataflow.reduce_scatter max %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<2x6xf32>
  // CHECK: dataflow.all_gather %{{.*}} dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
  %c = dataflow.all_gather %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
  // CHECK: dataflow.all_to_all %{{.*}} split 0 join 1 over [2:1] : tensor<8x6xf32> -> tensor<4x12xf32>
  %d = dataflow.all_to_all %x split 0 join 1 over [2:1] : tensor<8x6xf32> -> tensor<4x12xf32>
  // CHECK: dataflow.shard %{{.*}} dim 1 over [2:1] : tensor<8x6xf16> -> tensor<8x3xf16>
  %e = dataflow.shard %h dim 1 over [2:1] : tensor<8x6xf16> -> tensor<8x3xf16>
  // CHECK: dataflow.halo %{{.*}} dim 1 low 1 high 2 lowest over [2:1] : tensor<8x6xf16> -> tensor<8x9xf16>
  %f = dataflow.halo %h dim 1 low 1 high 2 lowest over [2:1] : tensor<8x6xf16> -> tensor<8x9xf16>
  return %a, %b, %c, %d, %e, %f : tensor<8x6xf32>, tensor<2x6xf32>, tensor<32x6xf32>, tensor<4x12xf32>, tensor<8x3xf16>, tensor<8x9xf16>
}

// CHECK-LABEL: func.func @messages
func.func @messages(%x: tensor<8x6xf32>) -> tensor<2xi64> {
  // CHECK: dataflow.send %{{.*}} to 1 : tensor<8x6xf32>
  %sent = dataflow.send %x to 1 : tensor<8x6xf32>
  // CHECK: dataflow.receive from 0 : tensor<8x6xf32>
  %received = dataflow.receive from 0 : tensor<8x6xf32>
  // CHECK: dataflow.receive from 2 : tensor<2xi64>
  %y = dataflow.receive from 2 : tensor<2xi64>
  return %y : tensor<2xi64>
}

// A rank's part of a state, and of a constant: it stays an operator, for each rank has another value.
// CHECK-LABEL: func.func @parts
func.func @parts() -> (tensor<2x3xf32>, tensor<1xi64>) {
  // CHECK: dataflow.state "w" trainable cut [#dataflow.cut<0 over [2:2]>, #dataflow.cut<1 over [2:1]>] dense<1.000000e+00> : tensor<4x6xf32>
  %w = dataflow.state "w" trainable cut [#dataflow.cut<0 over [2:2]>, #dataflow.cut<1 over [2:1]>] dense<1.0> : tensor<4x6xf32>
  %c = dataflow.constant dense<[0, 1]> : tensor<2xi64>
  // CHECK: dataflow.shard
  %n = dataflow.shard %c dim 0 over [2:1] : tensor<2xi64> -> tensor<1xi64>
  return %w, %n : tensor<2x3xf32>, tensor<1xi64>
}

// CHECK-LABEL: func.func @gathered
func.func @gathered(%x: tensor<8x6xf32>, %y: tensor<4x6xf32>) -> (tensor<32x6xf32>, tensor<10x6xf32>) {
  // CHECK: dataflow.all_gather %{{.*}} dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
  %whole = dataflow.all_gather %x dim 0 over [4:1] : tensor<8x6xf32> -> tensor<32x6xf32>
  // CHECK: dataflow.all_gather %{{.*}} dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x6xf32> -> tensor<10x6xf32>
  %ten = dataflow.all_gather %y dim 0 over [3:1] {uneven = #dataflow.uneven<10>}
    : tensor<4x6xf32> -> tensor<10x6xf32>
  return %whole, %ten : tensor<32x6xf32>, tensor<10x6xf32>
}

// Parts of 10 and of 7 on three ranks, of which the largest have the types.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<4x7xf32>, %w: tensor<10x7xf32>) -> (tensor<10x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<10x3xf32>, tensor<6x7xf32>, tensor<2x7xf32>) {
  // CHECK: dataflow.all_gather %{{.*}} dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x7xf32> -> tensor<10x7xf32>
  %a = dataflow.all_gather %x dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x7xf32> -> tensor<10x7xf32>
  // CHECK: dataflow.shard %{{.*}} dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<10x7xf32> -> tensor<4x7xf32>
  %b = dataflow.shard %w dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<10x7xf32> -> tensor<4x7xf32>
  // CHECK: dataflow.reduce_scatter sum %{{.*}} dim 0 over [3:1] {uneven = #dataflow.uneven<10>}
  %c = dataflow.reduce_scatter sum %w dim 0 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<10x7xf32> -> tensor<4x7xf32>
  // CHECK: dataflow.all_to_all %{{.*}} split 1 join 0 over [3:1] {uneven_join = #dataflow.uneven<10>, uneven_split = #dataflow.uneven<7>}
  %d = dataflow.all_to_all %x split 1 join 0 over [3:1] {uneven_join = #dataflow.uneven<10>, uneven_split = #dataflow.uneven<7>} : tensor<4x7xf32> -> tensor<10x3xf32>
  // CHECK: dataflow.halo %{{.*}} dim 0 low 1 high 1 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x7xf32> -> tensor<6x7xf32>
  %e = dataflow.halo %x dim 0 low 1 high 1 over [3:1] {uneven = #dataflow.uneven<10>} : tensor<4x7xf32> -> tensor<6x7xf32>
  // Of six ranks, three have the first half of 8 rows and three the second.
  // CHECK: dataflow.shard %{{.*}} dim 0 over [3:1] {uneven = #dataflow.uneven<8 in [2:3]>} : tensor<4x7xf32> -> tensor<2x7xf32>
  %f = dataflow.shard %x dim 0 over [3:1] {uneven = #dataflow.uneven<8 in [2:3]>} : tensor<4x7xf32> -> tensor<2x7xf32>
  return %a, %b, %c, %d, %e, %f : tensor<10x7xf32>, tensor<4x7xf32>, tensor<4x7xf32>, tensor<10x3xf32>, tensor<6x7xf32>, tensor<2x7xf32>
}
