// RUN: sluice-opt %s --dataflow-simplify | FileCheck %s

// What must stay as it is.

// CHECK-LABEL: func.func @product_used_twice
func.func @product_used_twice(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: %[[S:.*]] = dataflow.binary mul %[[P]]
  // CHECK: return %[[P]], %[[S]]
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<10.0> : tensor<f32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<f32>
  return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}

// CHECK-LABEL: func.func @weight_of_input
func.func @weight_of_input(%x: tensor<4x2xf32>, %w: tensor<2x2xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: dataflow.binary mul %[[P]]
  %c = dataflow.constant dense<10.0> : tensor<f32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<f32>
  return %1 : tensor<4x2xf32>
}

// One number a row, or a position, is no scale of the weights.
// CHECK-LABEL: func.func @scale_of_rows
func.func @scale_of_rows(%x: tensor<4x2xf32>, %image: tensor<1x2x4x4xf32>) -> (tensor<4x2xf32>, tensor<1x2x4x4xf32>) {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: dataflow.binary mul %[[P]]
  // CHECK: %[[C:.*]] = dataflow.conv
  // CHECK: dataflow.binary mul %[[C]]
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %rows = dataflow.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %rows : tensor<4x2xf32>, tensor<4x1xf32>
  %k = dataflow.constant dense<1.0> : tensor<2x2x1x1xf32>
  %columns = dataflow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = dataflow.conv %image, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %3 = dataflow.binary mul %2, %columns : tensor<1x2x4x4xf32>, tensor<4xf32>
  return %1, %3 : tensor<4x2xf32>, tensor<1x2x4x4xf32>
}

// A factor that makes the result larger is no scale either.
// CHECK-LABEL: func.func @scale_that_broadcasts
func.func @scale_that_broadcasts(%x: tensor<4x2xf32>) -> tensor<3x4x2xf32> {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: dataflow.binary mul %[[P]]
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<2.0> : tensor<3x1x1xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<3x1x1xf32>
  return %1 : tensor<3x4x2xf32>
}

// A sum is not spread out where the factor then folds into nothing: one
// multiplication would become two.
// CHECK-LABEL: func.func @distributes_into_nothing
func.func @distributes_into_nothing(%q: tensor<4x2xf32>, %k: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: %[[S:.*]] = dataflow.binary add %[[P]]
  // CHECK: dataflow.binary mul %[[S]]
  %mask = dataflow.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %c = dataflow.constant dense<0.5> : tensor<f32>
  %0 = dataflow.matmul %q, %k : tensor<4x2xf32>, tensor<2x4xf32>
  %1 = dataflow.binary add %0, %mask : tensor<4x4xf32>, tensor<4xf32>
  %2 = dataflow.binary mul %1, %c : tensor<4x4xf32>, tensor<f32>
  // CHECK: %[[T:.*]] = dataflow.binary add
  // CHECK: dataflow.binary mul %[[T]]
  %w = dataflow.constant dense<1.0> : tensor<2x4xf32>
  %rows = dataflow.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %3 = dataflow.matmul %q, %w : tensor<4x2xf32>, tensor<2x4xf32>
  %4 = dataflow.binary add %3, %mask : tensor<4x4xf32>, tensor<4xf32>
  %5 = dataflow.binary mul %4, %rows : tensor<4x4xf32>, tensor<4x1xf32>
  return %2, %5 : tensor<4x4xf32>, tensor<4x4xf32>
}

// Other functions than a product with a constant.
// CHECK-LABEL: func.func @other_functions
func.func @other_functions(%x: tensor<4x2xf32>, %c: tensor<2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) {
  // CHECK: %[[P:.*]] = dataflow.matmul
  // CHECK: dataflow.binary mul %[[P]]
  // CHECK: %[[Q:.*]] = dataflow.matmul
  // CHECK: dataflow.binary max %[[Q]]
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = dataflow.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %two = dataflow.constant dense<2.0> : tensor<2xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<2xf32>
  %2 = dataflow.matmul %x, %v : tensor<4x2xf32>, tensor<2x2xf32>
  %3 = dataflow.binary max %2, %two : tensor<4x2xf32>, tensor<2xf32>
  return %1, %3 : tensor<4x2xf32>, tensor<4x2xf32>
}

// Transposes around a concat that would only change places: another operand has to be moved, or another reader reads
// the result as it is.
// CHECK-LABEL: func.func @other_operand
func.func @other_operand(%x: tensor<2x6x4xf32>, %y: tensor<2x4x3xf32>) -> tensor<2x9x4xf32> {
  // CHECK-NEXT: dataflow.transpose %arg0
  // CHECK-NEXT: dataflow.concat
  // CHECK-NEXT: dataflow.transpose
  %0 = dataflow.transpose %x [0, 2, 1] : tensor<2x6x4xf32>
  %1 = dataflow.concat %0, %y {axis = 2 : i64} : tensor<2x4x6xf32>, tensor<2x4x3xf32> -> tensor<2x4x9xf32>
  %2 = dataflow.transpose %1 [0, 2, 1] : tensor<2x4x9xf32>
  return %2 : tensor<2x9x4xf32>
}
// CHECK-LABEL: func.func @other_reader
func.func @other_reader(%x: tensor<2x6x4xf32>, %y: tensor<2x4x1xf32>) -> (tensor<2x7x4xf32>, tensor<2x4x7xf32>) {
  // CHECK-NEXT: dataflow.transpose %arg0
  // CHECK-NEXT: %[[ALL:.*]] = dataflow.concat
  // CHECK-NEXT: dataflow.transpose %[[ALL]]
  // CHECK-NEXT: dataflow.unary exp %[[ALL]]
  %0 = dataflow.transpose %x [0, 2, 1] : tensor<2x6x4xf32>
  %1 = dataflow.concat %0, %y {axis = 2 : i64} : tensor<2x4x6xf32>, tensor<2x4x1xf32> -> tensor<2x4x7xf32>
  %2 = dataflow.transpose %1 [0, 2, 1] : tensor<2x4x7xf32>
  %3 = dataflow.unary exp %1 : tensor<2x4x7xf32>
  return %2, %3 : tensor<2x7x4xf32>, tensor<2x4x7xf32>
}
