// RUN: sluice-opt %s --dataflow-fuse | FileCheck %s --check-prefix=FUSE
// RUN: sluice-opt %s --dataflow-fuse --dataflow-plan-programs | FileCheck %s --check-prefix=PLAN
// RUN: sluice-opt %s --dataflow-assign-layout --dataflow-fuse | FileCheck %s --check-prefix=PACK

// Constants of a program move outside, and what follows from them; the program is fused by itself.
// FUSE-LABEL: func.func @main
// FUSE:         %[[W:.*]] = dataflow.constant dense<5.000000e-01> : tensor<8x8xf32>
// FUSE:         dataflow.loop %{{.*}}, %{{.*}} carried(%{{.*}}) captured(%{{.*}}, %[[W]]) {most = 100 : i64}
// FUSE-NEXT:    ^bb0(%{{.*}}: tensor<i64>, %[[H:.*]]: tensor<2x8xf32>, %[[X:.*]]: tensor<2x8xf32>, %[[OWN:.*]]: tensor<8x8xf32>):
// FUSE-NEXT:      %[[T:.*]] = dataflow.fused ({{.*}}%[[H]]{{.*}}%[[OWN]]{{.*}}%[[X]]
// FUSE:             dataflow.matmul
// FUSE:             dataflow.unary tanh
// FUSE:           %[[ON:.*]] = dataflow.fused
// FUSE:             dataflow.reduce
// FUSE:             dataflow.compare
// FUSE:           dataflow.yield %[[ON]], %[[T]]

// The iteration's number, the condition and the carried tensor's next value, which is copied: the product reads all of the old one.
// PLAN-LABEL: func.func @main
// PLAN:         dataflow.loop {{.*}} {most = 100 : i64, offsets = array<i64: {{[0-9]+, [0-9]+, [0-9]+}}>}
// PLAN-LABEL: func.func @swapped
// PLAN:         dataflow.loop {{.*}} {most = 9 : i64, offsets = array<i64: {{[0-9]+, [0-9]+, [0-9]+}}>}

// PACK-LABEL: func.func @main
// PACK:         %[[W:.*]] = dataflow.constant dense<5.000000e-01> : tensor<1x8x8xf32>
// PACK:         dataflow.loop {{.*}} captured(%{{.*}}, %[[W]])
// PACK:           dataflow.matmul {{.*}} packed 8

func.func @main(%n: tensor<i64>, %c: tensor<i1>, %s: tensor<2x8xf32>, %x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<i64>) {
  %last, %count = dataflow.loop %n, %c carried(%s) captured(%x) {most = 100 : i64}
    : (tensor<i64>, tensor<i1>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %h: tensor<2x8xf32>, %in: tensor<2x8xf32>):
    %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
    %p = dataflow.matmul %h, %w : tensor<2x8xf32>, tensor<8x8xf32>
    %a = dataflow.binary add %p, %in : tensor<2x8xf32>, tensor<2x8xf32>
    %t = dataflow.unary tanh %a : tensor<2x8xf32>
    %sum = dataflow.reduce sum %t axes [0, 1] : tensor<2x8xf32> -> tensor<f32>
    %limit = dataflow.constant dense<100.0> : tensor<f32>
    %on = dataflow.compare lt %sum, %limit : tensor<f32>, tensor<f32>
    dataflow.yield %on, %t : tensor<i1>, tensor<2x8xf32>
  }
  return %last, %count : tensor<2x8xf32>, tensor<i64>
}

func.func @swapped(%n: tensor<i64>, %c: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  %r:3 = dataflow.loop %n, %c carried(%a, %b) captured(%c) {most = 9 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %p: tensor<4xf32>, %q: tensor<4xf32>, %on: tensor<i1>):
    dataflow.yield %on, %q, %p : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<i64>
}
