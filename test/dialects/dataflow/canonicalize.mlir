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

// Two transpositions around a reshape that splits, joins or adds dimensions are one, or none, and other reshapes keep both.
// CHECK-LABEL: func.func @around
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x1x5xf32>, %[[Y:.*]]: tensor<2x3x4xf32>)
func.func @around(%x: tensor<1x2x1x5xf32>, %y: tensor<2x3x4xf32>) -> (tensor<1x1x2x5xf32>, tensor<3x1x2x4xf32>, tensor<4x6xf32>) {
  // CHECK-DAG: %[[NONE:.*]] = dataflow.reshape %[[X]] : tensor<1x2x1x5xf32> -> tensor<1x1x2x5xf32>
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x2x1x5xf32>
  %1 = dataflow.reshape %0 : tensor<1x5x2x1xf32> -> tensor<1x1x5x2xf32>
  %2 = dataflow.transpose %1 [0, 1, 3, 2] : tensor<1x1x5x2xf32>
  // CHECK-DAG: %[[MOVED:.*]] = dataflow.transpose %[[Y]] [1, 0, 2] : tensor<2x3x4xf32>
  // CHECK-DAG: %[[ONE:.*]] = dataflow.reshape %[[MOVED]] : tensor<3x2x4xf32> -> tensor<3x1x2x4xf32>
  %3 = dataflow.transpose %y [2, 0, 1] : tensor<2x3x4xf32>
  %4 = dataflow.reshape %3 : tensor<4x2x3xf32> -> tensor<4x2x1x3xf32>
  %5 = dataflow.transpose %4 [3, 2, 1, 0] : tensor<4x2x1x3xf32>
  // CHECK-DAG: %[[APART:.*]] = dataflow.transpose %[[Y]] [2, 0, 1] : tensor<2x3x4xf32>
  // CHECK-DAG: %[[JOINED:.*]] = dataflow.reshape %[[APART]] : tensor<4x2x3xf32> -> tensor<6x4xf32>
  // CHECK-DAG: %[[BACK:.*]] = dataflow.transpose %[[JOINED]] [1, 0] : tensor<6x4xf32>
  %6 = dataflow.reshape %3 : tensor<4x2x3xf32> -> tensor<6x4xf32>
  %7 = dataflow.transpose %6 [1, 0] : tensor<6x4xf32>
  // CHECK: return %[[NONE]], %[[ONE]], %[[BACK]]
  return %2, %5, %7 : tensor<1x1x2x5xf32>, tensor<3x1x2x4xf32>, tensor<4x6xf32>
}

// The same where steps give the extents.
#one = #dataflow.extents<()[s0] -> (1, s0, 1, 5), <"n" = 1 to 9>>
#two = #dataflow.extents<()[s0] -> (1, 5, s0, 1), <"n" = 1 to 9>>
#three = #dataflow.extents<()[s0] -> (1, 1, 5, s0), <"n" = 1 to 9>>
#four = #dataflow.extents<()[s0] -> (1, 1, s0, 5), <"n" = 1 to 9>>
// CHECK-LABEL: func.func @around_ranges
// CHECK-SAME: (%[[X:.*]]: tensor<1x9x1x5xf32,
func.func @around_ranges(%x: tensor<1x9x1x5xf32, #one>) -> tensor<1x1x9x5xf32, #four> {
  // CHECK-NOT: dataflow.transpose
  // CHECK: %[[NONE:.*]] = dataflow.reshape %[[X]]
  // CHECK-NEXT: return %[[NONE]]
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x9x1x5xf32, #one>
  %1 = dataflow.reshape %0 : tensor<1x5x9x1xf32, #two> -> tensor<1x1x5x9xf32, #three>
  %2 = dataflow.transpose %1 [0, 1, 3, 2] : tensor<1x1x5x9xf32, #three>
  return %2 : tensor<1x1x9x5xf32, #four>
}

// A channel shuffle of an image with channels first, between kernels that have them last: one transposition.
// CHECK-LABEL: func.func @shuffle
// CHECK-SAME: (%[[X:.*]]: tensor<1x5x7x12xf32>)
func.func @shuffle(%x: tensor<1x5x7x12xf32>) -> tensor<1x5x7x12xf32> {
  // CHECK-NEXT: %[[GROUPS:.*]] = dataflow.reshape %[[X]] : tensor<1x5x7x12xf32> -> tensor<5x7x4x3xf32>
  // CHECK-NEXT: %[[SHUFFLED:.*]] = dataflow.transpose %[[GROUPS]] [0, 1, 3, 2] : tensor<5x7x4x3xf32>
  // CHECK-NEXT: %[[Y:.*]] = dataflow.reshape %[[SHUFFLED]] : tensor<5x7x3x4xf32> -> tensor<1x5x7x12xf32>
  // CHECK-NEXT: return %[[Y]]
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x5x7x12xf32>
  %1 = dataflow.reshape %0 : tensor<1x12x5x7xf32> -> tensor<1x4x3x5x7xf32>
  %2 = dataflow.transpose %1 [0, 2, 1, 3, 4] : tensor<1x4x3x5x7xf32>
  %3 = dataflow.reshape %2 : tensor<1x3x4x5x7xf32> -> tensor<1x12x5x7xf32>
  %4 = dataflow.transpose %3 [0, 2, 3, 1] : tensor<1x12x5x7xf32>
  return %4 : tensor<1x5x7x12xf32>
}

// The same for a batch that steps give.
#images = #dataflow.extents<()[s0] -> (s0, 5, 7, 12), <"n" = 1 to 9>>
#first = #dataflow.extents<()[s0] -> (s0, 12, 5, 7), <"n" = 1 to 9>>
#groups = #dataflow.extents<()[s0] -> (s0, 4, 3, 5, 7), <"n" = 1 to 9>>
#shuffled = #dataflow.extents<()[s0] -> (s0, 3, 4, 5, 7), <"n" = 1 to 9>>
// CHECK-LABEL: func.func @shuffle_ranges
// CHECK-SAME: (%[[X:.*]]: tensor<9x5x7x12xf32,
func.func @shuffle_ranges(%x: tensor<9x5x7x12xf32, #images>) -> tensor<9x5x7x12xf32, #images> {
  // CHECK-NEXT: %[[GROUPS:.*]] = dataflow.reshape %[[X]]
  // CHECK-NEXT: %[[SHUFFLED:.*]] = dataflow.transpose %[[GROUPS]] [0, 1, 2, 4, 3]
  // CHECK-NEXT: %[[Y:.*]] = dataflow.reshape %[[SHUFFLED]]
  // CHECK-NEXT: return %[[Y]]
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<9x5x7x12xf32, #images>
  %1 = dataflow.reshape %0 : tensor<9x12x5x7xf32, #first> -> tensor<9x4x3x5x7xf32, #groups>
  %2 = dataflow.transpose %1 [0, 2, 1, 3, 4] : tensor<9x4x3x5x7xf32, #groups>
  %3 = dataflow.reshape %2 : tensor<9x3x4x5x7xf32, #shuffled> -> tensor<9x12x5x7xf32, #first>
  %4 = dataflow.transpose %3 [0, 2, 3, 1] : tensor<9x12x5x7xf32, #first>
  return %4 : tensor<9x5x7x12xf32, #images>
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
