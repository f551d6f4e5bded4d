// RUN: sluice-opt %s -canonicalize | FileCheck %s

// Operators that evaluate themselves fold where all operands are constant and
// everything is small.

// CHECK-LABEL: func.func @elementwise
func.func @elementwise() -> (tensor<2x2xf32>, tensor<2xi1>, tensor<3xi8>, tensor<2xf16>) {
  // CHECK-DAG: %[[SUM:.*]] = dataflow.constant dense<{{\[}}[1.500000e+00, 3.000000e+00], [1.250000e+00, 2.750000e+00]]> : tensor<2x2xf32>
  %a = dataflow.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %b = dataflow.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %0 = dataflow.binary add %a, %b : tensor<2x1xf32>, tensor<2xf32>
  // CHECK-DAG: %[[LESS:.*]] = dataflow.constant dense<[true, false]> : tensor<2xi1>
  %c = dataflow.constant dense<2.0> : tensor<f32>
  %1 = dataflow.compare lt %b, %c : tensor<2xf32>, tensor<f32>
  // CHECK-DAG: %[[CLAMPED:.*]] = dataflow.constant dense<[127, -128, 0]> : tensor<3xi8>
  %d = dataflow.constant dense<[300.0, -300.0, 0x7FC00000]> : tensor<3xf32>
  %2 = dataflow.cast %d saturate : tensor<3xf32> -> tensor<3xi8>
  // CHECK-DAG: %[[HALF:.*]] = dataflow.constant dense<[2.000000e+00, 5.000000e+00]> : tensor<2xf16>
  %3 = dataflow.binary mul %b, %c : tensor<2xf32>, tensor<f32>
  %4 = dataflow.cast %3 : tensor<2xf32> -> tensor<2xf16>
  // CHECK: return %[[SUM]], %[[LESS]], %[[CLAMPED]], %[[HALF]]
  return %0, %1, %2, %4 : tensor<2x2xf32>, tensor<2xi1>, tensor<3xi8>, tensor<2xf16>
}

// The arithmetic exporters do on shapes.
// CHECK-LABEL: func.func @shapes
func.func @shapes() -> tensor<3xi64> {
  // CHECK-NEXT: %[[SHAPE:.*]] = dataflow.constant dense<[1, 7, 14]> : tensor<3xi64>
  // CHECK-NEXT: return %[[SHAPE]]
  %shape = dataflow.constant dense<[1, 3, 7, 14]> : tensor<4xi64>
  %which = dataflow.constant dense<[-2, -1]> : tensor<2xi64>
  %0 = dataflow.gather %shape, %which {axis = 0 : i64} : tensor<4xi64>, tensor<2xi64> -> tensor<2xi64>
  %1 = dataflow.slice %shape from [0] by [1] : tensor<4xi64> -> tensor<1xi64>
  %2 = dataflow.concat %1, %0 {axis = 0 : i64} : tensor<1xi64>, tensor<2xi64> -> tensor<3xi64>
  return %2 : tensor<3xi64>
}

// CHECK-LABEL: func.func @movement
func.func @movement() -> (tensor<3x2xi32>, tensor<2x2xi32>, tensor<5xi32>, tensor<3xi32>) {
  // CHECK-DAG: %[[T:.*]] = dataflow.constant dense<{{\[}}[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %m = dataflow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = dataflow.transpose %m [1, 0] : tensor<2x3xi32>
  // CHECK-DAG: %[[S:.*]] = dataflow.constant dense<{{\[}}[3, 1], [6, 4]]> : tensor<2x2xi32>
  %1 = dataflow.slice %m from [0, 2] by [1, -2] : tensor<2x3xi32> -> tensor<2x2xi32>
  // CHECK-DAG: %[[P:.*]] = dataflow.constant dense<[2, 1, 2, 3, 2]> : tensor<5xi32>
  %row = dataflow.slice %m from [0, 0] by [1, 1] : tensor<2x3xi32> -> tensor<1x3xi32>
  %flat = dataflow.reshape %row : tensor<1x3xi32> -> tensor<3xi32>
  %zero = dataflow.constant dense<0> : tensor<i32>
  %2 = dataflow.pad reflect %flat, %zero low [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>
  // CHECK-DAG: %[[R:.*]] = dataflow.constant dense<[5, 7, 9]> : tensor<3xi32>
  %3 = dataflow.reduce sum %m axes [0] : tensor<2x3xi32> -> tensor<3xi32>
  // CHECK: return %[[T]], %[[S]], %[[P]], %[[R]]
  return %0, %1, %2, %3 : tensor<3x2xi32>, tensor<2x2xi32>, tensor<5xi32>, tensor<3xi32>
}

// Nothing is a constant too.
// CHECK-LABEL: func.func @empty
func.func @empty() -> (tensor<0x2xf32>, tensor<2xf32>) {
  // CHECK-DAG: %[[E:.*]] = dataflow.constant dense<> : tensor<0x2xf32>
  %e = dataflow.constant dense<> : tensor<2x0xf32>
  %0 = dataflow.transpose %e [1, 0] : tensor<2x0xf32>
  // CHECK-DAG: %[[Z:.*]] = dataflow.constant dense<0.000000e+00> : tensor<2xf32>
  %1 = dataflow.reduce sum %e axes [1] : tensor<2x0xf32> -> tensor<2xf32>
  // CHECK: return %[[E]], %[[Z]]
  return %0, %1 : tensor<0x2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @stays
func.func @stays() -> (tensor<20000xf32>, tensor<2xf32>, tensor<f32>) {
  // Beyond the limit: a constant expression, evaluated when parameters are packed.
  // CHECK: %[[LARGE:.*]] = dataflow.unary exp
  %large = dataflow.constant dense<1.0> : tensor<20000xf32>
  %0 = dataflow.unary exp %large : tensor<20000xf32>
  // An index out of range is the program's to deal with.
  // CHECK: %[[GATHER:.*]] = dataflow.gather
  %small = dataflow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %far = dataflow.constant dense<[0, 5]> : tensor<2xi64>
  %1 = dataflow.gather %small, %far {axis = 0 : i64} : tensor<2xf32>, tensor<2xi64> -> tensor<2xf32>
  // No largest of none.
  // CHECK: %[[MAX:.*]] = dataflow.reduce max
  %none = dataflow.constant dense<> : tensor<0xf32>
  %2 = dataflow.reduce max %none axes [0] : tensor<0xf32> -> tensor<f32>
  // CHECK: return %[[LARGE]], %[[GATHER]], %[[MAX]]
  return %0, %1, %2 : tensor<20000xf32>, tensor<2xf32>, tensor<f32>
}
