// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @groups
func.func @groups(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %bias: tensor<6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[R:.*]] = dataflow.fused (%[[A:.*]] = %{{.*}} : tensor<4x8xf32>, %[[B:.*]] = %{{.*}} : tensor<8x6xf32>, %[[C:.*]] = %{{.*}} : tensor<6xf32>) -> (tensor<4x6xf32>) {
  %0 = dataflow.fused (%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x6xf32>, %c = %bias : tensor<6xf32>) -> (tensor<4x6xf32>) {
    // CHECK-NEXT: %[[P:.*]] = dataflow.matmul %[[A]], %[[B]]
    %1 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
    // CHECK-NEXT: %[[S:.*]] = dataflow.binary add %[[P]], %[[C]]
    %2 = dataflow.binary add %1, %c : tensor<4x6xf32>, tensor<6xf32>
    // CHECK-NEXT: %[[Y:.*]] = dataflow.unary relu %[[S]]
    %3 = dataflow.unary relu %2 : tensor<4x6xf32>
    // CHECK-NEXT: dataflow.yield %[[Y]] : tensor<4x6xf32>
    dataflow.yield %3 : tensor<4x6xf32>
  }
  // CHECK: return %[[R]]
  return %0 : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @decisions
func.func @decisions(%x: tensor<8xf32>) {
  // CHECK: dataflow.fused (%{{.*}} = %{{.*}} : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>) attributes {dataflow.order = 2 : i64} {
  %0, %1 = dataflow.fused (%a = %x : tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi1>) attributes {dataflow.order = 2 : i64} {
    %2 = dataflow.constant dense<1.0> : tensor<8xf32>
    %3 = dataflow.binary add %a, %2 : tensor<8xf32>, tensor<8xf32>
    %4 = dataflow.unary is_nan %3 : tensor<8xf32>
    dataflow.yield %3, %4 : tensor<8xf32>, tensor<8xi1>
  }
  return
}
