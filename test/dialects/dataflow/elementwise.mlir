// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// Element-wise operators: what is printed is read back the same.

// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<2x3xf32>, %row: tensor<3xf32>, %mask: tensor<2x1xi1>, %i: tensor<4xui8>) {
  // CHECK: dataflow.unary relu %{{.*}} : tensor<2x3xf32>
  %0 = dataflow.unary relu %x : tensor<2x3xf32>
  // CHECK: dataflow.unary leaky_relu %{{.*}} {alpha = 1.000000e-01 : f64} : tensor<2x3xf32>
  %1 = dataflow.unary leaky_relu %0 {alpha = 0.1 : f64} : tensor<2x3xf32>
  // CHECK: %[[NAN:.*]] = dataflow.unary is_nan %{{.*}} : tensor<2x3xf32>
  %2 = dataflow.unary is_nan %1 : tensor<2x3xf32>
  // CHECK: dataflow.unary logical_not %[[NAN]] : tensor<2x3xi1>
  %3 = dataflow.unary logical_not %2 : tensor<2x3xi1>
  // CHECK: dataflow.unary bitwise_not %{{.*}} : tensor<4xui8>
  %4 = dataflow.unary bitwise_not %i : tensor<4xui8>
  // CHECK: dataflow.binary add %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3xf32>
  %5 = dataflow.binary add %x, %row : tensor<2x3xf32>, tensor<3xf32>
  // CHECK: dataflow.compare lt %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3xf32>
  %6 = dataflow.compare lt %5, %row : tensor<2x3xf32>, tensor<3xf32>
  // CHECK: dataflow.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>
  %7 = dataflow.select %mask, %x, %row : tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32>
  // CHECK: dataflow.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xbf16>
  %8 = dataflow.cast %7 : tensor<2x3xf32> -> tensor<2x3xbf16>
  // CHECK: dataflow.cast %{{.*}} saturate : tensor<2x3xbf16> -> tensor<2x3xi8>
  %9 = dataflow.cast %8 saturate : tensor<2x3xbf16> -> tensor<2x3xi8>
  // CHECK: dataflow.copy %{{.*}} : tensor<2x3xf32>
  %10 = dataflow.copy %x : tensor<2x3xf32>
  return
}

// The planner's decisions ride along as discardable attributes.
// CHECK-LABEL: func.func @decisions
func.func @decisions(%x: tensor<4xf32>) {
  // CHECK: dataflow.unary exp %{{.*}} {dataflow.device = "cpu", dataflow.order = 3 : i64} : tensor<4xf32>
  %0 = dataflow.unary exp %x {dataflow.device = "cpu", dataflow.order = 3 : i64} : tensor<4xf32>
  return
}

