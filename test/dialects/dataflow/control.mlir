// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @choose
func.func @choose(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: dataflow.if %{{.*}} captured(%{{.*}}) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: } else {
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = dataflow.unary relu %a : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @repeat
func.func @repeat(%trips: tensor<i64>, %c: tensor<i1>, %s: tensor<2xf32>, %w: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<8x2xf32>, tensor<i64>) {
  // CHECK: dataflow.loop %{{.*}}, %{{.*}} carried(%{{.*}}) captured(%{{.*}}) {most = 8 : i64}
  %last, %all, %count = dataflow.loop %trips, %c carried(%s) captured(%w) {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<8x2xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %before: tensor<2xf32>, %weight: tensor<2xf32>):
    %after = dataflow.binary mul %before, %weight : tensor<2xf32>, tensor<2xf32>
    %sum = dataflow.reduce sum %after axes [0] : tensor<2xf32> -> tensor<f32>
    %one = dataflow.constant dense<1.0> : tensor<f32>
    %on = dataflow.compare gt %sum, %one : tensor<f32>, tensor<f32>
    dataflow.yield %on, %after, %before : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }
  return %last, %all, %count : tensor<2xf32>, tensor<8x2xf32>, tensor<i64>
}

// CHECK-LABEL: func.func @both
func.func @both(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: dataflow.concurrent captured(%{{.*}}) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r:2 = dataflow.concurrent captured(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = dataflow.unary relu %a : tensor<4xf32>
    %q = dataflow.unary exp %a : tensor<4xf32>
    dataflow.yield %p, %q : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}
