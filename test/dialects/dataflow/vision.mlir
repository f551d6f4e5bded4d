// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @vision
func.func @vision(%x: tensor<2x3x8x9xf32>, %p: tensor<2x4x5x2xf32>, %r: tensor<6x4xf32>, %i: tensor<6xi64>) {
  // CHECK: dataflow.grid_sample linear zeros %{{.*}}, %{{.*}} {at_edges} : tensor<2x3x8x9xf32>, tensor<2x4x5x2xf32>
  %0 = dataflow.grid_sample linear zeros %x, %p {at_edges} : tensor<2x3x8x9xf32>, tensor<2x4x5x2xf32>
  // The result's type is inferred.
  // CHECK: dataflow.copy %{{.*}} : tensor<2x3x4x5xf32>
  %1 = dataflow.copy %0 : tensor<2x3x4x5xf32>
  // CHECK: dataflow.roi_align %{{.*}}, %{{.*}}, %{{.*}} {height = 2 : i64, maximum, sampling_ratio = 0 : i64, spatial_scale = 5.000000e-01 : f64, width = 3 : i64} : tensor<2x3x8x9xf32>, tensor<6x4xf32>, tensor<6xi64> -> tensor<6x3x2x3xf32>
  %2 = dataflow.roi_align %x, %r, %i {height = 2 : i64, width = 3 : i64, sampling_ratio = 0 : i64, spatial_scale = 0.5 : f64, maximum} : tensor<2x3x8x9xf32>, tensor<6x4xf32>, tensor<6xi64> -> tensor<6x3x2x3xf32>
  // CHECK: dataflow.pool_index %{{.*}} kernel [2, 2] strides [2, 2] pads [0, 0] dilations [1, 1] {column_major} : tensor<2x3x8x9xf32> -> tensor<2x3x4x4xi64>
  %3 = dataflow.pool_index %x kernel [2, 2] strides [2, 2] pads [0, 0] dilations [1, 1] {column_major} : tensor<2x3x8x9xf32> -> tensor<2x3x4x4xi64>
  return
}

// CHECK-LABEL: func.func @selection
func.func @selection(%x: tensor<2x3xi1>, %b: tensor<2x7x4xf32>, %s: tensor<2x3x7xf32>, %n: tensor<i64>, %o: tensor<f32>) {
  // CHECK: dataflow.nonzero %{{.*}} : tensor<2x3xi1> -> tensor<2x6xi64>, tensor<i64>
  %0:2 = dataflow.nonzero %x : tensor<2x3xi1> -> tensor<2x6xi64>, tensor<i64>
  // CHECK: dataflow.non_max_suppression %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {centered, most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  %1:2 = dataflow.non_max_suppression %b, %s, %n, %o, %o {most = 4 : i64, centered} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  // CHECK: dataflow.non_max_suppression %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  %2:2 = dataflow.non_max_suppression %b, %s, %n, %o {most = 4 : i64} : tensor<2x7x4xf32>, tensor<2x3x7xf32>, tensor<i64>, tensor<f32> -> tensor<24x3xi64>, tensor<i64>
  return
}

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<3xf32>) -> tensor<3xui4> {
  // CHECK: dataflow.bitcast %{{.*}} : tensor<3xf32> -> tensor<3xi32>
  %0 = dataflow.bitcast %x : tensor<3xf32> -> tensor<3xi32>
  // CHECK: dataflow.random {seed = 7 : i64} : tensor<4x5xf32>
  %1 = dataflow.random {seed = 7 : i64} : tensor<4x5xf32>
  // CHECK: dataflow.cast %{{.*}} saturate : tensor<3xf32> -> tensor<3xf8E4M3FN>
  %2 = dataflow.cast %x saturate : tensor<3xf32> -> tensor<3xf8E4M3FN>
  // CHECK: dataflow.cast %{{.*}} : tensor<3xf8E4M3FN> -> tensor<3xui4>
  %3 = dataflow.cast %2 : tensor<3xf8E4M3FN> -> tensor<3xui4>
  return %3 : tensor<3xui4>
}
