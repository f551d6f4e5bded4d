// RUN: sluice-opt %s --dataflow-simplify | FileCheck %s

// y = x * scale / sqrt(variance + epsilon) + (bias - mean * that), and what is
// constant of it is computed now: 2 * 3 / sqrt(8.75 + 0.25) = 2, 1 - 2 * 0.5 = 0.
// CHECK-LABEL: func.func @batch_norm
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x4xf32>)
func.func @batch_norm(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-DAG: %[[SCALE:.*]] = dataflow.constant dense<2.000000e+00> : tensor<1x2x1x1xf32>
  // CHECK-DAG: %[[SHIFT:.*]] = dataflow.constant dense<{{\[\[}}{{\[\[}}3.000000e+00]], {{\[\[}}5.000000e+00]]]]> : tensor<1x2x1x1xf32>
  // CHECK: %[[SCALED:.*]] = dataflow.binary mul %[[X]], %[[SCALE]]
  // CHECK: %[[Y:.*]] = dataflow.binary add %[[SCALED]], %[[SHIFT]]
  // CHECK: return %[[Y]]
  %scale = dataflow.constant dense<6.0> : tensor<2xf32>
  %bias = dataflow.constant dense<[4.0, 6.0]> : tensor<2xf32>
  %mean = dataflow.constant dense<0.5> : tensor<2xf32>
  %variance = dataflow.constant dense<8.75> : tensor<2xf32>
  %0 = dataflow.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 0.25 : f64} : tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// The parameters of a batch normalisation may be the model's inputs.
// CHECK-LABEL: func.func @batch_norm_of_inputs
func.func @batch_norm_of_inputs(%x: tensor<3x2xf32>, %p: tensor<2xf32>) -> tensor<3x2xf32> {
  // CHECK-NOT: dataflow.batch_norm
  // CHECK: dataflow.unary sqrt {{.*}} : tensor<2xf32>
  // CHECK: dataflow.binary add {{.*}} : tensor<3x2xf32>, tensor<1x2xf32>
  %0 = dataflow.batch_norm %x, %p, %p, %p, %p {epsilon = 0.25 : f64} : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// The whole of it after a convolution with a bias: the scale goes through the
// addition into the weights.
// CHECK-LABEL: func.func @conv_bias_batch_norm
// CHECK-SAME: (%[[X:.*]]: tensor<1x1x4x4xf32>)
func.func @conv_bias_batch_norm(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  // CHECK-DAG: %[[W:.*]] = dataflow.constant dense<{{\[\[}}{{\[\[}}2.000000e+00]]], {{\[\[\[}}4.000000e+00]]]]> : tensor<2x1x1x1xf32>
  // CHECK-DAG: %[[B:.*]] = dataflow.constant dense<2.000000e+00> : tensor<1x2x1x1xf32>
  // CHECK-DAG: %[[SHIFT:.*]] = dataflow.constant dense<{{\[\[}}{{\[\[}}3.000000e+00]], {{\[\[}}5.000000e+00]]]]> : tensor<1x2x1x1xf32>
  // CHECK: %[[CONV:.*]] = dataflow.conv %[[X]], %[[W]]
  // CHECK-NEXT: %[[BIASED:.*]] = dataflow.binary add %[[CONV]], %[[B]]
  // CHECK-NEXT: %[[Y:.*]] = dataflow.binary add %[[BIASED]], %[[SHIFT]]
  // CHECK-NEXT: return %[[Y]]
  %weight = dataflow.constant dense<[[[[1.0]]], [[[2.0]]]]> : tensor<2x1x1x1xf32>
  %conv_bias = dataflow.constant dense<1.0> : tensor<1x2x1x1xf32>
  %scale = dataflow.constant dense<6.0> : tensor<2xf32>
  %bias = dataflow.constant dense<[4.0, 6.0]> : tensor<2xf32>
  %mean = dataflow.constant dense<0.5> : tensor<2xf32>
  %variance = dataflow.constant dense<8.75> : tensor<2xf32>
  %0 = dataflow.conv %x, %weight strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = dataflow.binary add %0, %conv_bias : tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>
  %2 = dataflow.batch_norm %1, %scale, %bias, %mean, %variance {epsilon = 0.25 : f64} : tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// Large weights are not multiplied here: a constant expression stays.
// CHECK-LABEL: func.func @large_weight
// CHECK-SAME: (%[[X:.*]]: tensor<1x64x8x8xf32>)
func.func @large_weight(%x: tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32> {
  // CHECK-DAG: %[[W:.*]] = dataflow.constant dense<1.000000e+00> : tensor<64x64x3x3xf32>
  // CHECK-DAG: %[[C:.*]] = dataflow.constant dense<2.000000e+00> : tensor<64x1x1x1xf32>
  // CHECK: %[[SCALED:.*]] = dataflow.binary mul %[[W]], %[[C]]
  // CHECK: dataflow.conv %[[X]], %[[SCALED]]
  // CHECK-NEXT: return
  %weight = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %c = dataflow.constant dense<2.0> : tensor<64x1x1xf32>
  %0 = dataflow.conv %x, %weight strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x8x8xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x8x8xf32>
  // The factor may come first.
  %1 = dataflow.binary mul %c, %0 : tensor<64x1x1xf32>, tensor<1x64x8x8xf32>
  return %1 : tensor<1x64x8x8xf32>
}

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>)
func.func @matmul(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  // CHECK-DAG: %[[COLUMNS:.*]] = dataflow.constant dense<{{\[}}[1.000000e+01, 2.000000e+02], [3.000000e+01, 4.000000e+02]]> : tensor<2x2xf32>
  // CHECK-DAG: %[[ROWS:.*]] = dataflow.constant dense<{{\[}}[1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02]]> : tensor<2x2xf32>
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<[10.0, 100.0]> : tensor<2xf32>
  // CHECK-DAG: dataflow.matmul %[[X]], %[[COLUMNS]] :
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<2xf32>
  // A column of the product is a row of weights stored transposed.
  // CHECK-DAG: dataflow.matmul %[[X]], %[[ROWS]] transposed :
  %2 = dataflow.matmul %x, %w transposed : tensor<4x2xf32>, tensor<2x2xf32>
  %3 = dataflow.binary mul %2, %c : tensor<4x2xf32>, tensor<2xf32>
  // CHECK-NOT: dataflow.binary
  // CHECK: return
  return %1, %3 : tensor<4x2xf32>, tensor<4x2xf32>
}

// Canonicalization and common subexpressions are part of it.
// CHECK-LABEL: func.func @common
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @common(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[R:.*]] = dataflow.unary relu %[[X]]
  // CHECK-NEXT: return %[[R]], %[[R]]
  %one = dataflow.constant dense<1.0> : tensor<f32>
  %0 = dataflow.unary relu %x : tensor<4xf32>
  %1 = dataflow.unary relu %x : tensor<4xf32>
  %2 = dataflow.binary mul %1, %one : tensor<4xf32>, tensor<f32>
  return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// A decoder's keys: those of the past are transposed for the product, joined with the token's, and transposed back.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: (%[[Q:.*]]: tensor<2x1x4xf32>, %[[PAST:.*]]: tensor<2x6x4xf32, #[[E:.*]]>, %[[KEY:.*]]: tensor<2x1x4xf32>)
!past = tensor<2x6x4xf32, #dataflow.extents<()[s0] -> (2, s0, 4), <"past" = 1 to 6>>>
!turned = tensor<2x4x6xf32, #dataflow.extents<()[s0] -> (2, 4, s0), <"past" = 1 to 6>>>
!joined = tensor<2x4x7xf32, #dataflow.extents<()[s0] -> (2, 4, s0 + 1), <"past" = 1 to 6>>>
!back = tensor<2x7x4xf32, #dataflow.extents<()[s0] -> (2, s0 + 1, 4), <"past" = 1 to 6>>>
!scores = tensor<2x1x7xf32, #dataflow.extents<()[s0] -> (2, 1, s0 + 1), <"past" = 1 to 6>>>
func.func @keys(%q: tensor<2x1x4xf32>, %past: !past, %key: tensor<2x1x4xf32>) -> (!scores, !back) {
  // CHECK-NEXT: %[[ALL:.*]] = dataflow.concat %[[PAST]], %[[KEY]] {axis = 1 : i64}
  // CHECK-NEXT: %[[S:.*]] = dataflow.matmul %[[Q]], %[[ALL]] transposed :
  // CHECK-NEXT: return %[[S]], %[[ALL]]
  %0 = dataflow.transpose %past [0, 2, 1] : !past
  %1 = dataflow.reshape %key : tensor<2x1x4xf32> -> tensor<2x4x1xf32>
  %2 = dataflow.concat %0, %1 {axis = 2 : i64} : !turned, tensor<2x4x1xf32> -> !joined
  %3 = dataflow.matmul %q, %2 : tensor<2x1x4xf32>, !joined
  %4 = dataflow.transpose %2 [0, 2, 1] : !joined
  return %3, %4 : !scores, !back
}

// Channels change places, and the axis with them.
// CHECK-LABEL: func.func @join_axis
func.func @join_axis(%x: tensor<1x2x3x4xf32>, %y: tensor<1x2x3x5xf32>) -> tensor<1x2x3x9xf32> {
  // CHECK-NEXT: %[[ALL:.*]] = dataflow.concat %arg0, %arg1 {axis = 3 : i64}
  // CHECK-NEXT: return %[[ALL]]
  %0 = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x2x3x4xf32>
  %1 = dataflow.transpose %y [0, 3, 1, 2] : tensor<1x2x3x5xf32>
  %2 = dataflow.concat %0, %1 {axis = 1 : i64} : tensor<1x4x2x3xf32>, tensor<1x5x2x3xf32> -> tensor<1x9x2x3xf32>
  %3 = dataflow.transpose %2 [0, 2, 3, 1] : tensor<1x9x2x3xf32>
  return %3 : tensor<1x2x3x9xf32>
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
