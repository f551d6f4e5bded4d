// RUN: sluice-opt %s --dataflow-pool-experts="slots=3 hit-rate=0.25" | FileCheck %s

// Each expert gets the number of its group and sees the whole mask; the function says how many slots there are.
// CHECK-LABEL: func.func @layer
// CHECK-SAME:    dataflow.expert_hit_rate = 2.500000e-01 : f64, dataflow.expert_slots = 3 : i64
// CHECK:         %[[MASK:.*]] = dataflow.unary logical_not
// CHECK:         dataflow.if %{{.*}} captured(%{{.*}}, %{{.*}}, %[[MASK]]) {dataflow.expert}
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<2048xf32>, %{{.*}}: tensor<2xi1>)
// CHECK:         dataflow.if %{{.*}} captured(%{{.*}}, %{{.*}}, %[[MASK]]) {dataflow.expert}
func.func @layer(%x: tensor<4xf32>, %m: tensor<2xi1>) -> tensor<4xf32> {
  %mask = dataflow.unary logical_not %m : tensor<2xi1>
  %w0 = dataflow.constant dense<1.0> : tensor<2048xf32>
  %w1 = dataflow.constant dense<2.0> : tensor<2048xf32>
  %s0 = dataflow.slice %mask from [0] by [1] : tensor<2xi1> -> tensor<1xi1>
  %c0 = dataflow.reshape %s0 : tensor<1xi1> -> tensor<i1>
  %s1 = dataflow.slice %mask from [1] by [1] : tensor<2xi1> -> tensor<1xi1>
  %c1 = dataflow.reshape %s1 : tensor<1xi1> -> tensor<i1>
  %y0 = dataflow.if %c0 captured(%x, %w0) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    %r = dataflow.binary add %a, %p : tensor<4xf32>, tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  %y1 = dataflow.if %c1 captured(%y0, %w1) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    %r = dataflow.binary add %a, %p : tensor<4xf32>, tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y1 : tensor<4xf32>
}

// Weights that are read in any case, that two operators share, or that are small stay as they are, and so does the only
// expert of a mask.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     dataflow.expert
func.func @others(%x: tensor<4xf32>, %m: tensor<3xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %mask = dataflow.unary logical_not %m : tensor<3xi1>
  %w0 = dataflow.constant dense<1.0> : tensor<2048xf32>
  %small = dataflow.constant dense<2.0> : tensor<4xf32>
  %w1 = dataflow.constant dense<3.0> : tensor<2048xf32>
  %s0 = dataflow.slice %mask from [0] by [1] : tensor<3xi1> -> tensor<1xi1>
  %c0 = dataflow.reshape %s0 : tensor<1xi1> -> tensor<i1>
  %s1 = dataflow.slice %mask from [1] by [1] : tensor<3xi1> -> tensor<1xi1>
  %c1 = dataflow.reshape %s1 : tensor<1xi1> -> tensor<i1>
  %s2 = dataflow.slice %mask from [2] by [1] : tensor<3xi1> -> tensor<1xi1>
  %c2 = dataflow.reshape %s2 : tensor<1xi1> -> tensor<i1>
  %y0 = dataflow.if %c0 captured(%x, %w0) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    dataflow.yield %p : tensor<4xf32>
  }
  %y1 = dataflow.if %c1 captured(%x, %small) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<4xf32>):
    dataflow.yield %w : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  %y2 = dataflow.if %c2 captured(%x, %w1) : (tensor<i1>, tensor<4xf32>, tensor<2048xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    %p = dataflow.slice %w from [0] by [1] : tensor<2048xf32> -> tensor<4xf32>
    dataflow.yield %p : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %w: tensor<2048xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y0, %y1, %y2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
