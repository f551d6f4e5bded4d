// RUN: sluice-opt %s --dataflow-assign-layout | FileCheck %s

// What must stay as it is.

// Weights that are not known when parameters are written.
// CHECK-LABEL: func.func @weights_of_inputs
func.func @weights_of_inputs(%x: tensor<1x8x6x5xf32>, %k: tensor<16x8x3x3xf32>, %a: tensor<4x8xf32>, %w: tensor<8x40xf32>) -> (tensor<1x16x6x5xf32>, tensor<4x40xf32>) {
  // CHECK-NEXT: dataflow.conv {{.*}} : tensor<1x8x6x5xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x6x5xf32>
  // CHECK-NEXT: dataflow.matmul {{.*}} : tensor<4x8xf32>, tensor<8x40xf32>
  // CHECK-NEXT: return
  %0 = dataflow.conv %x, %k strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x8x6x5xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x6x5xf32>
  %1 = dataflow.matmul %a, %w : tensor<4x8xf32>, tensor<8x40xf32>
  return %0, %1 : tensor<1x16x6x5xf32>, tensor<4x40xf32>
}

// A library takes matrices as they are.
// CHECK-LABEL: func.func @of_a_library
func.func @of_a_library(%a: tensor<4x8xf32>) -> tensor<4x40xf32> {
  // CHECK-NOT: dataflow.pack
  // CHECK: dataflow.matmul {{.*}} {library = 64 : i64} : tensor<4x8xf32>, tensor<8x40xf32>
  %w = dataflow.constant dense<1.0> : tensor<8x40xf32>
  %0 = dataflow.matmul %a, %w {library = 64 : i64} : tensor<4x8xf32>, tensor<8x40xf32>
  return %0 : tensor<4x40xf32>
}

// Elements the packed kernels have no form for.
// CHECK-LABEL: func.func @other_elements
func.func @other_elements(%x: tensor<1x2x4x4xf64>, %a: tensor<4x8xi32>) -> (tensor<1x2x4x4xf64>, tensor<4x3xi32>) {
  // CHECK-NOT: dataflow.pack
  // CHECK-NOT: dataflow.transpose
  // CHECK: return
  %k = dataflow.constant dense<1.0> : tensor<2x2x1x1xf64>
  %w = dataflow.constant dense<1> : tensor<8x3xi32>
  %0 = dataflow.conv %x, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<1x2x4x4xf64>, tensor<2x2x1x1xf64> -> tensor<1x2x4x4xf64>
  %1 = dataflow.matmul %a, %w : tensor<4x8xi32>, tensor<8x3xi32>
  return %0, %1 : tensor<1x2x4x4xf64>, tensor<4x3xi32>
}

// Volumes.
// CHECK-LABEL: func.func @volume
func.func @volume(%x: tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
  // CHECK-NOT: dataflow.pack
  // CHECK: dataflow.conv {{.*}} : tensor<1x2x4x4x4xf32>, tensor<2x2x1x1x1xf32> -> tensor<1x2x4x4x4xf32>
  %k = dataflow.constant dense<1.0> : tensor<2x2x1x1x1xf32>
  %0 = dataflow.conv %x, %k strides [1, 1, 1] pads [0, 0, 0, 0, 0, 0] dilations [1, 1, 1] : tensor<1x2x4x4x4xf32>, tensor<2x2x1x1x1xf32> -> tensor<1x2x4x4x4xf32>
  return %0 : tensor<1x2x4x4x4xf32>
}

// Nothing to compute, nothing to pack.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<0x8x6x5xf32>, %a: tensor<4x0xf32>) -> (tensor<0x16x6x5xf32>, tensor<4x40xf32>) {
  // CHECK-NOT: dataflow.pack
  // CHECK: return
  %k = dataflow.constant dense<1.0> : tensor<16x8x1x1xf32>
  %w = dataflow.constant dense<> : tensor<0x40xf32>
  %0 = dataflow.conv %x, %k strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : tensor<0x8x6x5xf32>, tensor<16x8x1x1xf32> -> tensor<0x16x6x5xf32>
  %1 = dataflow.matmul %a, %w : tensor<4x0xf32>, tensor<0x40xf32>
  return %0, %1 : tensor<0x16x6x5xf32>, tensor<4x40xf32>
}

// Another operand would have to be transposed at run time: one transposition
// would become another.
// CHECK-LABEL: func.func @other_operand
// CHECK-SAME: (%[[X:.*]]: tensor<1x6x5x8xf32>, %[[Y:.*]]: tensor<1x8x6x5xf32>)
func.func @other_operand(%x: tensor<1x6x5x8xf32>, %y: tensor<1x8x6x5xf32>) -> tensor<1x8x6x5xf32> {
  // CHECK-NEXT: %[[T:.*]] = dataflow.transpose %[[X]] [0, 3, 1, 2]
  // CHECK-NEXT: dataflow.binary add %[[T]], %[[Y]] : tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>
  %first = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x6x5x8xf32>
  %0 = dataflow.binary add %first, %y : tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>
  return %0 : tensor<1x8x6x5xf32>
}

// An operator that does not commute, a result of another rank, another
// permutation.
// CHECK-LABEL: func.func @others
// CHECK-SAME: (%[[X:.*]]: tensor<1x6x5x8xf32>,
func.func @others(%x: tensor<1x6x5x8xf32>, %w: tensor<5x5xf32>) -> (tensor<1x8x6x5xf32>, tensor<1x8xf32>, tensor<2x1x8x6x5xf32>, tensor<1x8x5x6xf32>) {
  // CHECK-DAG: %[[T:.*]] = dataflow.transpose %[[X]] [0, 3, 1, 2]
  // CHECK-DAG: dataflow.matmul %[[T]]
  // CHECK-DAG: dataflow.reduce sum %[[T]] axes [2, 3]
  // CHECK-DAG: dataflow.binary mul %[[T]]
  // CHECK-DAG: %[[U:.*]] = dataflow.transpose %[[X]] [0, 3, 2, 1]
  // CHECK-DAG: dataflow.unary relu %[[U]]
  %first = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x6x5x8xf32>
  %0 = dataflow.matmul %first, %w : tensor<1x8x6x5xf32>, tensor<5x5xf32>
  %1 = dataflow.reduce sum %first axes [2, 3] : tensor<1x8x6x5xf32> -> tensor<1x8xf32>
  %factor = dataflow.constant dense<2.0> : tensor<2x1x1x1x1xf32>
  %2 = dataflow.binary mul %first, %factor : tensor<1x8x6x5xf32>, tensor<2x1x1x1x1xf32>
  %other = dataflow.transpose %x [0, 3, 2, 1] : tensor<1x6x5x8xf32>
  %3 = dataflow.unary relu %other : tensor<1x8x5x6xf32>
  return %0, %1, %2, %3 : tensor<1x8x6x5xf32>, tensor<1x8xf32>, tensor<2x1x8x6x5xf32>, tensor<1x8x5x6xf32>
}
