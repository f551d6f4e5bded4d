// RUN: sluice-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @neutral(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %one = dataflow.constant dense<1.0> : tensor<f32>
  %zero = dataflow.constant dense<0.0> : tensor<f32>
  %nothing = dataflow.constant dense<0> : tensor<4xi32>
  %0 = dataflow.binary mul %one, %x : tensor<f32>, tensor<4xf32>
  %1 = dataflow.binary sub %x, %zero : tensor<4xf32>, tensor<f32>
  %2 = dataflow.binary add %i, %nothing : tensor<4xi32>, tensor<4xi32>
  // -0 + 0 is +0: this addition does something.
  // CHECK: %[[SUM:.*]] = dataflow.binary add %[[X]]
  %3 = dataflow.binary add %x, %zero : tensor<4xf32>, tensor<f32>
  // CHECK: return %[[X]], %[[X]], %[[I]], %[[SUM]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// Broadcasting is work, whatever the factor.
// CHECK-LABEL: func.func @neutral_broadcast
func.func @neutral_broadcast(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // CHECK: dataflow.binary mul
  %ones = dataflow.constant dense<1.0> : tensor<2x1xf32>
  %0 = dataflow.binary mul %x, %ones : tensor<4xf32>, tensor<2x1xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @powers
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = dataflow.constant dense<2.0> : tensor<f32>
  %half = dataflow.constant dense<0.5> : tensor<4xf32>
  // CHECK: %[[SQUARE:.*]] = dataflow.binary mul %[[X]], %[[X]]
  %0 = dataflow.binary pow %x, %two : tensor<4xf32>, tensor<f32>
  // The root of what may be -0 or -infinity is not its power.
  // CHECK: %[[LOWEST:.*]] = dataflow.compare eq %[[X]], %{{.*}}
  // CHECK: %[[SUM:.*]] = dataflow.binary add %[[X]], %{{.*}}
  // CHECK: %[[SAFE:.*]] = dataflow.select %[[LOWEST]], %{{.*}}, %[[SUM]]
  // CHECK: %[[POWER:.*]] = dataflow.unary sqrt %[[SAFE]]
  %1 = dataflow.binary pow %x, %half : tensor<4xf32>, tensor<4xf32>
  // CHECK: %[[ROOT:.*]] = dataflow.unary sqrt %[[SQUARE]]
  %2 = dataflow.binary pow %0, %half : tensor<4xf32>, tensor<4xf32>
  // CHECK: return %[[SQUARE]], %[[POWER]], %[[ROOT]]
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<2x1x4xf32>)
func.func @views(%x: tensor<2x3x4xf32>, %y: tensor<2x1x4xf32>) -> (tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<1x2x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>) {
  // Two transpositions are one, or none.
  %0 = dataflow.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
  %1 = dataflow.transpose %0 [1, 2, 0] : tensor<4x2x3xf32>
  // CHECK-DAG: %[[BOTH:.*]] = dataflow.transpose %[[X]] [2, 1, 0] : tensor<2x3x4xf32>
  %2 = dataflow.transpose %0 [0, 2, 1] : tensor<4x2x3xf32>
  // Nothing but an extent of 1 moves.
  // CHECK-DAG: %[[VIEW:.*]] = dataflow.reshape %[[Y]] : tensor<2x1x4xf32> -> tensor<1x2x4xf32>
  %3 = dataflow.transpose %y [1, 0, 2] : tensor<2x1x4xf32>
  // CHECK-DAG: %[[FLAT:.*]] = dataflow.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
  %4 = dataflow.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %5 = dataflow.reshape %4 : tensor<6x4xf32> -> tensor<24xf32>
  %6 = dataflow.reshape %5 : tensor<24xf32> -> tensor<2x3x4xf32>
  // CHECK: return %[[X]], %[[BOTH]], %[[VIEW]], %[[FLAT]], %[[X]]
  return %1, %2, %3, %5, %6 : tensor<2x3x4xf32>, tensor<4x3x2xf32>, tensor<1x2x4xf32>, tensor<24xf32>, tensor<2x3x4xf32>
}

// What changes nothing goes.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @nothing(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = dataflow.cast %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = dataflow.expand %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = dataflow.slice %1 from [0, 0] by [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = dataflow.transpose %2 [0, 1] : tensor<2x3xf32>
  %4 = dataflow.reshape %3 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %4 : tensor<2x3xf32>
}
