// RUN: sluice-opt %s --dataflow-fuse | FileCheck %s
// RUN: sluice-opt %s --dataflow-fuse --dataflow-fuse | FileCheck %s

// What must not fuse, nor when asked again.

// A value that two read would be computed twice; one that leaves must be stored.
// CHECK-LABEL: func.func @used_twice
func.func @used_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: dataflow.fused
  // CHECK: return
  %0 = dataflow.unary exp %x : tensor<4xf32>
  %1 = dataflow.unary relu %0 : tensor<4xf32>
  %2 = dataflow.unary neg %0 : tensor<4xf32>
  %3 = dataflow.binary add %1, %1 : tensor<4xf32>, tensor<4xf32>
  %4 = dataflow.unary abs %3 : tensor<4xf32>
  return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A value that is broadcast would be computed once for each element it reaches.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<4x1xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NOT: dataflow.fused
  // CHECK: return
  %0 = dataflow.unary exp %b : tensor<8xf32>
  %1 = dataflow.binary add %x, %0 : tensor<4x8xf32>, tensor<8xf32>
  %2 = dataflow.unary exp %c : tensor<4x1xf32>
  %3 = dataflow.binary add %x, %2 : tensor<4x8xf32>, tensor<4x1xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// One kernel has one set of loops: the sum joins the last product only.
// CHECK-LABEL: func.func @two_anchors
func.func @two_anchors(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[Q:.*]] = dataflow.matmul
  // CHECK-NEXT: dataflow.fused ({{.*}} = %[[Q]] : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  // CHECK-NEXT: dataflow.matmul
  // CHECK-NEXT: dataflow.binary add
  // CHECK-NEXT: dataflow.yield
  %0 = dataflow.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dataflow.matmul %y, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = dataflow.binary add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// Contractions read their operands from memory.
// CHECK-LABEL: func.func @no_prologue
func.func @no_prologue(%x: tensor<4x4xf32>, %image: tensor<1x2x4x4xf32>) -> (tensor<4x4xf32>, tensor<1x2x2x2xf32>) {
  // CHECK-NOT: dataflow.fused
  // CHECK: return
  %0 = dataflow.unary relu %x : tensor<4x4xf32>
  %1 = dataflow.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = dataflow.unary relu %image : tensor<1x2x4x4xf32>
  %3 = dataflow.pool max %2 kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<1x2x2x2xf32>
}

// A scatter writes elements twice, a join reads several values: no epilogue.
// CHECK-LABEL: func.func @no_epilogue
func.func @no_epilogue(%x: tensor<4x4xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  // CHECK-NOT: dataflow.fused
  // CHECK: return
  %0 = dataflow.scatter_nd none %x, %i, %u : tensor<4x4xf32>, tensor<2x1xi64>, tensor<2x4xf32> -> tensor<4x4xf32>
  %1 = dataflow.unary relu %0 : tensor<4x4xf32>
  %2 = dataflow.concat %x, %x {axis = 0 : i64} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %3 = dataflow.unary relu %2 : tensor<8x4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<8x4xf32>
}

// An epilogue runs on vectors, which movement has no form for; movement does
// not read what is not in memory; nothing fuses through a change of shape.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>) {
  // CHECK: dataflow.transpose
  // CHECK-NEXT: dataflow.fused
  // CHECK-NEXT: dataflow.matmul
  // CHECK-NEXT: dataflow.binary add
  // CHECK-NEXT: dataflow.yield
  // CHECK-NOT: dataflow.fused
  // CHECK: return
  %0 = dataflow.transpose %x [1, 0] : tensor<4x4xf32>
  %1 = dataflow.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = dataflow.binary add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  %3 = dataflow.unary exp %x : tensor<4x4xf32>
  %4 = dataflow.transpose %3 [1, 0] : tensor<4x4xf32>
  %5 = dataflow.unary relu %x : tensor<4x4xf32>
  %6 = dataflow.reshape %5 : tensor<4x4xf32> -> tensor<16xf32>
  %7 = dataflow.unary neg %6 : tensor<16xf32>
  return %2, %4, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<16xf32>
}

// Parameters: constants and what follows from them alone.
// CHECK-LABEL: func.func @parameters
func.func @parameters(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: %[[E:.*]] = dataflow.unary exp
  // CHECK: %[[N:.*]] = dataflow.unary neg %[[E]]
  // CHECK: dataflow.matmul %{{.*}}, %[[N]]
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = dataflow.unary exp %w : tensor<2x2xf32>
  %1 = dataflow.unary neg %0 : tensor<2x2xf32>
  %2 = dataflow.matmul %x, %1 : tensor<4x2xf32>, tensor<2x2xf32>
  return %2 : tensor<4x2xf32>
}

// An operator with neither loops nor elements, such as a batch normalisation
// that simplify has not seen.
// CHECK-LABEL: func.func @neither
func.func @neither(%x: tensor<3x2xf32>, %p: tensor<2xf32>) -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[N:.*]] = dataflow.batch_norm
  // CHECK-NEXT: dataflow.unary relu %[[N]]
  %0 = dataflow.batch_norm %x, %p, %p, %p, %p {epsilon = 0.25 : f64} : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %1 = dataflow.unary relu %0 : tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// A sum of vectors stays one: its broadcast operand is loaded.
// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: tensor<2x3x4xf32>, %places: tensor<8x4xf32>, %order: tensor<3xi64>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: %[[G:.*]] = dataflow.gather
  // CHECK-NEXT: dataflow.binary add %arg0, %[[G]]
  %0 = dataflow.gather %places, %order {axis = 0 : i64} : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %1 = dataflow.binary add %x, %0 : tensor<2x3x4xf32>, tensor<3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// Nor is a transpose, which has a kernel for tiles, part of a gather's.
// CHECK-LABEL: func.func @transposed_table
func.func @transposed_table(%x: tensor<4x8xf32>, %i: tensor<3xi64>) -> tensor<3x4xf32> {
  // CHECK-NEXT: dataflow.transpose
  // CHECK-NEXT: dataflow.gather
  %0 = dataflow.transpose %x [1, 0] : tensor<4x8xf32>
  %1 = dataflow.gather %0, %i {axis = 0 : i64} : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}
