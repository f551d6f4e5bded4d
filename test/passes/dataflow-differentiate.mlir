// RUN: sluice-opt %s --split-input-file --dataflow-differentiate --canonicalize | FileCheck %s
// RUN: sluice-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(dataflow-differentiate{arguments=1}))' | FileCheck %s --check-prefix=SECOND
// RUN: sluice-opt %s --split-input-file --dataflow-differentiate -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=NAMES

// What broadcasting repeated is summed. An operator's gradient has its name.
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:[^:]*]]: tensor<2x3xf64>, %[[B:[^:]*]]: tensor<3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<3xf64>)
// CHECK-DAG: %[[ONE:.*]] = dataflow.constant dense<1.000000e+00> : tensor<2x3xf64>
// CHECK-DAG: %[[Y:.*]] = dataflow.binary mul %[[A]], %[[B]]
// CHECK: %[[BYA:.*]] = dataflow.binary mul %[[ONE]], %[[B]]
// CHECK: %[[SUM:.*]] = dataflow.reduce sum %[[A]] axes [0] {keep_dims = true}
// CHECK: %[[BYB:.*]] = dataflow.reshape %[[SUM]] : tensor<1x3xf64> -> tensor<3xf64>
// CHECK: return %[[Y]], %[[BYA]], %[[BYB]]
// SECOND-LABEL: func.func @product
// SECOND-SAME: -> (tensor<2x3xf64>, tensor<3xf64>)
// NAMES-LABEL: func.func @product
// NAMES: binary mul {{.*}} loc("times")
// NAMES: binary mul {{.*}} loc("times.gradient")
// NAMES: reduce sum {{.*}} loc("times.gradient")
func.func @product(%a: tensor<2x3xf64>, %b: tensor<3xf64>) -> tensor<2x3xf64> {
  %0 = dataflow.binary mul %a, %b : tensor<2x3xf64>, tensor<3xf64> loc("times")
  return %0 : tensor<2x3xf64>
}

// -----

// Both ways from x to the result add up.
// CHECK-LABEL: func.func @two_ways
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4xf64>, %[[Y:[^:]*]]: tensor<4xf64>)
// CHECK: %[[SEED:.*]] = dataflow.constant dense<1.000000e+00> : tensor<4xf64>
// CHECK: %[[T:.*]] = dataflow.unary tanh %[[X]]
// CHECK: %[[SQUARE:.*]] = dataflow.binary mul %[[T]], %[[T]]
// CHECK: %[[SLOPE:.*]] = dataflow.binary sub %{{.*}}, %[[SQUARE]]
// CHECK: %[[BOTH:.*]] = dataflow.binary add %[[SEED]], %[[SLOPE]]
// CHECK: return %{{.*}}, %[[BOTH]], %[[SEED]] :
func.func @two_ways(%x: tensor<4xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {
  %0 = dataflow.unary tanh %x : tensor<4xf64>
  %1 = dataflow.binary add %0, %x : tensor<4xf64>, tensor<4xf64>
  %2 = dataflow.binary add %1, %y : tensor<4xf64>, tensor<4xf64>
  return %2 : tensor<4xf64>
}

// -----

// Integers get no result, and another result than the first adds nothing.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: -> (tensor<4x2xf32>, tensor<4x3xf32>, tensor<2xi64>, tensor<4x3xf32>, tensor<3x2xf32>)
// CHECK: dataflow.unary exp
// CHECK: dataflow.matmul %{{.*}}, %{{.*}} transposed : tensor<4x2xf32>, tensor<3x2xf32>
// CHECK: dataflow.matmul %{{.*}} transposed, %{{.*}} : tensor<4x3xf32>, tensor<4x2xf32>
// CHECK-NOT: dataflow.unary
// CHECK: return
func.func @matmul(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %n: tensor<2xi64>) -> (tensor<4x2xf32>, tensor<4x3xf32>, tensor<2xi64>) {
  %0 = dataflow.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32>
  %1 = dataflow.unary exp %x : tensor<4x3xf32>
  return %0, %1, %n : tensor<4x2xf32>, tensor<4x3xf32>, tensor<2xi64>
}

// -----

// No small change of x changes an integer: its gradient is zero, and it asks arg_reduce for none.
// CHECK-LABEL: func.func @through_integers
// CHECK-DAG: %[[ZERO:.*]] = dataflow.constant dense<0.000000e+00> : tensor<2x3xf32>
// CHECK-DAG: %[[ONE:.*]] = dataflow.constant dense<1.000000e+00> : tensor<2xf32>
// CHECK: return %{{.*}}, %[[ZERO]], %[[ONE]]
func.func @through_integers(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = dataflow.arg_reduce %x {axis = 1 : i64, keep_dims = false} : tensor<2x3xf32> -> tensor<2xi64>
  %1 = dataflow.cast %0 : tensor<2xi64> -> tensor<2xf32>
  %2 = dataflow.binary add %1, %y : tensor<2xf32>, tensor<2xf32>
  return %2 : tensor<2xf32>
}
