// RUN: sluice-opt %s --dataflow-fuse | FileCheck %s

// An element-wise chain is one kernel; a splat constant lives inside it.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>)
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = dataflow.fused (%[[A0:.*]] = %[[X]] : tensor<4x8xf32>, %[[A1:.*]] = %[[B]] : tensor<8xf32>) -> (tensor<4x8xf32>) {
  // CHECK-NEXT: %[[C:.*]] = dataflow.constant dense<2.000000e+00>
  // CHECK-NEXT: %[[M:.*]] = dataflow.binary mul %[[A0]], %[[C]]
  // CHECK-NEXT: %[[S:.*]] = dataflow.binary add %[[M]], %[[A1]]
  // CHECK-NEXT: %[[Y:.*]] = dataflow.unary relu %[[S]]
  // CHECK-NEXT: dataflow.yield %[[Y]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return %[[R]]
  %c = dataflow.constant dense<2.0> : tensor<f32>
  %0 = dataflow.binary mul %x, %c : tensor<4x8xf32>, tensor<f32>
  %1 = dataflow.binary add %0, %b : tensor<4x8xf32>, tensor<8xf32>
  %2 = dataflow.unary relu %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// The epilogue of a contraction, with the element-wise producer of its other operand.
// CHECK-LABEL: func.func @epilogue
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %r: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[R:.*]] = dataflow.fused ({{.*}}) -> (tensor<4x6xf32>) {
  // CHECK-NEXT: %[[P:.*]] = dataflow.matmul
  // CHECK-NEXT: %[[T:.*]] = dataflow.unary tanh
  // CHECK-NEXT: %[[Y:.*]] = dataflow.binary add %[[P]], %[[T]]
  // CHECK-NEXT: dataflow.yield %[[Y]]
  // CHECK: return %[[R]]
  %0 = dataflow.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32>
  %1 = dataflow.unary tanh %r : tensor<4x6xf32>
  %2 = dataflow.binary add %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// A reduction has a prologue too.
// CHECK-LABEL: func.func @prologue
func.func @prologue(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: dataflow.fused ({{.*}}) -> (tensor<4xf32>) {
  // CHECK-NEXT: %[[D:.*]] = dataflow.binary sub
  // CHECK-NEXT: %[[A:.*]] = dataflow.unary abs %[[D]]
  // CHECK-NEXT: %[[S:.*]] = dataflow.reduce sum %[[A]]
  // CHECK-NEXT: %[[R:.*]] = dataflow.unary sqrt %[[S]]
  // CHECK-NEXT: dataflow.yield %[[R]]
  %0 = dataflow.binary sub %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %1 = dataflow.unary abs %0 : tensor<4x8xf32>
  %2 = dataflow.reduce sum %1 axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  %3 = dataflow.unary sqrt %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Movement that computes one element at a time joins its element-wise consumer.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x8xf32>, %table: tensor<9x4xf32>, %i: tensor<8xi64>) -> tensor<8x4xf32> {
  // CHECK-NEXT: dataflow.fused
  // CHECK-NEXT: %[[T:.*]] = dataflow.transpose
  // CHECK-NEXT: %[[G:.*]] = dataflow.gather
  // CHECK-NEXT: %[[S:.*]] = dataflow.binary add %[[T]], %[[G]]
  // CHECK-NEXT: dataflow.yield %[[S]]
  %0 = dataflow.transpose %x [1, 0] : tensor<4x8xf32>
  %1 = dataflow.gather %table, %i {axis = 0 : i64} : tensor<9x4xf32>, tensor<8xi64> -> tensor<8x4xf32>
  %2 = dataflow.binary add %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// A splat that the contraction reads from memory, and the epilogue need not.
// CHECK-LABEL: func.func @splat_of_both
func.func @splat_of_both(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[C:.*]] = dataflow.constant dense<2.000000e+00> : tensor<4x4xf32>
  // CHECK-NEXT: dataflow.fused ({{.*}}, %[[A:.*]] = %[[C]] : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  // CHECK: %[[P:.*]] = dataflow.matmul %{{.*}}, %[[A]]
  // CHECK: %[[INSIDE:.*]] = dataflow.constant
  // CHECK: dataflow.binary add %[[P]], %[[INSIDE]]
  %c = dataflow.constant dense<2.0> : tensor<4x4xf32>
  %0 = dataflow.matmul %x, %c : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dataflow.binary add %0, %c : tensor<4x4xf32>, tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// Every result has an operator of its own that writes it.
// CHECK-LABEL: func.func @results
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) {
  %c = dataflow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %view = dataflow.reshape %x : tensor<4xf32> -> tensor<2x2xf32>
  %0 = dataflow.unary exp %x : tensor<4xf32>
  %again = dataflow.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  // CHECK-DAG: %[[C:.*]] = dataflow.constant
  // CHECK-DAG: %[[VIEW:.*]] = dataflow.reshape %[[X]]
  // CHECK-DAG: %[[E:.*]] = dataflow.unary exp
  // CHECK-DAG: %[[AGAIN:.*]] = dataflow.reshape %[[E]]
  // CHECK-DAG: %[[R0:.*]] = dataflow.copy %[[X]]
  // CHECK-DAG: %[[R1:.*]] = dataflow.copy %[[VIEW]]
  // CHECK-DAG: %[[R2:.*]] = dataflow.copy %[[C]]
  // CHECK-DAG: %[[R4:.*]] = dataflow.copy %[[AGAIN]]
  // CHECK: return %[[R0]], %[[R1]], %[[R2]], %[[E]], %[[R4]]
  return %x, %view, %c, %0, %again : tensor<4xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// A sum takes each product as it comes: none waits in memory for the others.
// CHECK-LABEL: func.func @sum_of_products
func.func @sum_of_products(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %[[FIRST:.*]] = dataflow.matmul %arg0, %arg1
  // CHECK-NEXT: %[[SECOND:.*]] = dataflow.fused ({{.*}} = %[[FIRST]] : tensor<4x4xf32>
  // CHECK-NEXT: dataflow.matmul
  // CHECK-NEXT: dataflow.binary add
  // CHECK-NEXT: dataflow.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: dataflow.fused ({{.*}} = %[[SECOND]] : tensor<4x4xf32>
  // CHECK-NEXT: dataflow.matmul
  // CHECK-NEXT: dataflow.binary add
  %0 = dataflow.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dataflow.matmul %y, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = dataflow.binary add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  %3 = dataflow.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  %4 = dataflow.binary add %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// What computes the operand of an operator with two results joins it, and both results are the group's.
// CHECK-LABEL: func.func @two_results
func.func @two_results(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<1x4xi64>, tensor<i64>) {
  // CHECK-NEXT: %[[BOTH:.*]]:2 = dataflow.fused
  // CHECK-NEXT: dataflow.compare
  // CHECK-NEXT: %[[I:.*]], %[[N:.*]] = dataflow.nonzero
  // CHECK-NEXT: dataflow.yield %[[I]], %[[N]]
  // CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
  %0 = dataflow.compare gt %x, %y : tensor<4xf32>, tensor<4xf32>
  %indices, %count = dataflow.nonzero %0 : tensor<4xi1> -> tensor<1x4xi64>, tensor<i64>
  return %indices, %count : tensor<1x4xi64>, tensor<i64>
}

// What costs as much as a load is computed where it would be loaded, once for each row that broadcasts it: the kernel
// reads elements one by one anyway.
// CHECK-LABEL: func.func @embeddings
func.func @embeddings(%words: tensor<9x4xf32>, %ids: tensor<2x3xi64>, %places: tensor<8x4xf32>, %order: tensor<8xi64>)
    -> tensor<2x3x4xf32> {
  // CHECK-NEXT: dataflow.fused
  // CHECK-NEXT: dataflow.slice
  // CHECK-NEXT: dataflow.gather
  // CHECK-NEXT: dataflow.gather
  // CHECK-NEXT: dataflow.binary add
  // CHECK-NEXT: dataflow.yield
  %0 = dataflow.slice %order from [2] by [1] : tensor<8xi64> -> tensor<3xi64>
  %1 = dataflow.gather %places, %0 {axis = 0 : i64} : tensor<8x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  %2 = dataflow.gather %words, %ids {axis = 0 : i64} : tensor<9x4xf32>, tensor<2x3xi64> -> tensor<2x3x4xf32>
  %3 = dataflow.binary add %2, %1 : tensor<2x3x4xf32>, tensor<3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// A library writes a product before the epilogue reads the state, so a copy stores the next value. The copy comes right
// behind the last reader of either value, and not at the end: what follows needs the memory.
// CHECK-LABEL: func.func @next_by_copy
func.func @next_by_copy(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> (tensor<4x4xf32> {dataflow.updates = "m"}, tensor<4xf32>, tensor<4x4xf32>) {
  // CHECK: %[[M:.*]] = dataflow.state "m"
  // CHECK: %[[NEXT:.*]] = dataflow.fused ({{.*}} = %[[M]] : tensor<4x4xf32>
  // CHECK: dataflow.matmul
  // CHECK: %[[READ:.*]] = dataflow.reduce sum %[[NEXT]]
  // CHECK-NEXT: %[[COPY:.*]] = dataflow.copy %[[NEXT]]
  // CHECK-NEXT: %[[AFTER:.*]] = dataflow.matmul
  // CHECK-NEXT: return %[[COPY]], %[[READ]], %[[AFTER]]
  %m = dataflow.state "m" dense<0.0> : tensor<4x4xf32>
  %half = dataflow.constant dense<0.5> : tensor<f32>
  %0 = dataflow.matmul %x, %w {library = 64 : i64} : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = dataflow.binary mul %m, %half : tensor<4x4xf32>, tensor<f32>
  %2 = dataflow.binary add %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  %3 = dataflow.reduce sum %2 axes [1] : tensor<4x4xf32> -> tensor<4xf32>
  %4 = dataflow.matmul %w, %x {library = 64 : i64} : tensor<4x4xf32>, tensor<4x4xf32>
  return %2, %3, %4 : tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
