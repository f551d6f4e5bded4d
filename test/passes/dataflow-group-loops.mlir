// RUN: sluice-opt %s --dataflow-group-loops | FileCheck %s

// Both directions of a recurrence run at the same time; what follows from the first comes later.
// CHECK-LABEL: func.func @directions
// CHECK-NOT:     dataflow.loop
// CHECK:         %[[R:.*]]:4 = dataflow.concurrent captured(
// CHECK:           %[[A:.*]]:2 = dataflow.loop
// CHECK:           %[[B:.*]]:2 = dataflow.loop
// CHECK:           dataflow.yield %[[A]]#0, %[[A]]#1, %[[B]]#0, %[[B]]#1
// CHECK:         %[[E:.*]] = dataflow.unary exp %[[R]]#0
// CHECK:         return %[[E]], %[[R]]#2
func.func @directions(%c: tensor<i1>, %x: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %n = dataflow.constant dense<4000> : tensor<i64>
  %a:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  %e = dataflow.unary exp %a#0 : tensor<256xf32>
  %m = dataflow.unary neg %x : tensor<256xf32>
  %b:2 = dataflow.loop %n, %c carried(%m) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary sigmoid %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  return %e, %b#0 : tensor<256xf32>, tensor<256xf32>
}

// One follows from the other.
// CHECK-LABEL: func.func @chain
// CHECK-NOT:     dataflow.concurrent
func.func @chain(%c: tensor<i1>, %x: tensor<256xf32>) -> tensor<256xf32> {
  %n = dataflow.constant dense<4000> : tensor<i64>
  %a:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  %e = dataflow.unary exp %a#0 : tensor<256xf32>
  %b:2 = dataflow.loop %n, %c carried(%e) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary sigmoid %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  return %b#0 : tensor<256xf32>
}

// The kernels of these use threads themselves.
// CHECK-LABEL: func.func @wide
// CHECK-NOT:     dataflow.concurrent
func.func @wide(%c: tensor<i1>, %x: tensor<9000000xf32>) -> (tensor<9000000xf32>, tensor<9000000xf32>) {
  %n = dataflow.constant dense<4000> : tensor<i64>
  %a:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<9000000xf32>, tensor<i1>) -> (tensor<9000000xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<9000000xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<9000000xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<9000000xf32>
  }
  %b:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<9000000xf32>, tensor<i1>) -> (tensor<9000000xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<9000000xf32>, %on: tensor<i1>):
    %t = dataflow.unary sigmoid %s : tensor<9000000xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<9000000xf32>
  }
  return %a#0, %b#0 : tensor<9000000xf32>, tensor<9000000xf32>
}

// The third follows from the first: it runs alone, behind the others.
// CHECK-LABEL: func.func @four
// CHECK:         %[[R:.*]]:6 = dataflow.concurrent captured(
// CHECK-COUNT-3:   dataflow.loop
// CHECK:         }
// CHECK:         dataflow.loop %{{.*}}, %{{.*}} carried(%[[R]]#0)
func.func @four(%c: tensor<i1>, %x: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
  %n = dataflow.constant dense<4000> : tensor<i64>
  %a:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  %b:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  %d:2 = dataflow.loop %n, %c carried(%a#0) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  %e:2 = dataflow.loop %n, %c carried(%x) captured(%c) {most = 4000 : i64}
    : (tensor<i64>, tensor<i1>, tensor<256xf32>, tensor<i1>) -> (tensor<256xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %s: tensor<256xf32>, %on: tensor<i1>):
    %t = dataflow.unary tanh %s : tensor<256xf32>
    dataflow.yield %on, %t : tensor<i1>, tensor<256xf32>
  }
  return %b#0, %d#0, %e#0 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}
