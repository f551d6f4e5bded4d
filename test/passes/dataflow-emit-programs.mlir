// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s

// A program calls its members' kernels, each where its tensors lie; an error ends it.
// CHECK-LABEL: func.func @choose(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK:         scf.if
// CHECK:           call @choose_member0
// CHECK:         } else {
// CHECK:           "llvm.intr.memcpy"
// CHECK:       func.func private @choose_member0
func.func @choose(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {dataflow.kernel} {
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

// The carried tensor is copied once, and updated where it is.
// CHECK-LABEL: func.func @repeat(
// CHECK:         "llvm.intr.memcpy"
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NOT:       llvm.intr.memcpy
// CHECK:           call @repeat_member
// CHECK-NOT:       llvm.intr.memcpy
// CHECK:           scf.yield
// CHECK:         return
func.func @repeat(%n: tensor<i64>, %c: tensor<i1>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) attributes {dataflow.kernel} {
  %y, %count = dataflow.loop %n, %c carried(%s) captured(%c) {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>, %on: tensor<i1>):
    %r = dataflow.unary relu %a : tensor<4xf32>
    dataflow.yield %on, %r : tensor<i1>, tensor<4xf32>
  }
  return %y, %count : tensor<4xf32>, tensor<i64>
}
