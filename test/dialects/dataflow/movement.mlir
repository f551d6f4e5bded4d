// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3x4xf32>, %v: tensor<f32>, %one: tensor<i64>) {
  // CHECK: dataflow.transpose %{{.*}} [2, 0, 1] : tensor<2x3x4xf32>
  %0 = dataflow.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
  // CHECK: dataflow.reshape %{{.*}} : tensor<4x2x3xf32> -> tensor<8x3xf32>
  %1 = dataflow.reshape %0 : tensor<4x2x3xf32> -> tensor<8x3xf32>
  // CHECK: dataflow.expand %{{.*}} : tensor<8x3xf32> -> tensor<5x8x3xf32>
  %2 = dataflow.expand %1 : tensor<8x3xf32> -> tensor<5x8x3xf32>
  // CHECK: dataflow.tile %{{.*}} : tensor<8x3xf32> -> tensor<16x3xf32>
  %3 = dataflow.tile %1 : tensor<8x3xf32> -> tensor<16x3xf32>
  // CHECK: dataflow.slice %{{.*}} from [15, 0] by [-2, 1] : tensor<16x3xf32> -> tensor<8x2xf32>
  %4 = dataflow.slice %3 from [15, 0] by [-2, 1] : tensor<16x3xf32> -> tensor<8x2xf32>
  // CHECK: dataflow.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : tensor<8x3xf32>, tensor<8x2xf32> -> tensor<8x5xf32>
  %5 = dataflow.concat %1, %4 {axis = 1 : i64} : tensor<8x3xf32>, tensor<8x2xf32> -> tensor<8x5xf32>
  // CHECK: dataflow.pad reflect %{{.*}}, %{{.*}} low [2, -1] : (tensor<8x5xf32>, tensor<f32>) -> tensor<13x4xf32>
  %6 = dataflow.pad reflect %5, %v low [2, -1] : (tensor<8x5xf32>, tensor<f32>) -> tensor<13x4xf32>
  // CHECK: dataflow.range %{{.*}}, %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<9xi64>
  %7 = dataflow.range %one, %one : (tensor<i64>, tensor<i64>) -> tensor<9xi64>
  return
}

// CHECK-LABEL: func.func @indexed
func.func @indexed(%d: tensor<5x7xf32>, %i: tensor<3x7xi64>, %t: tensor<4x2xi64>, %u: tensor<3x7xf32>, %w: tensor<4xf32>, %v: tensor<2xf32>) {
  // CHECK: dataflow.gather %{{.*}}, %{{.*}} {axis = 1 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<5x3x7xf32>
  %0 = dataflow.gather %d, %i {axis = 1 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<5x3x7xf32>
  // CHECK: dataflow.gather_elements %{{.*}}, %{{.*}} {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<3x7xf32>
  %1 = dataflow.gather_elements %d, %i {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64> -> tensor<3x7xf32>
  // CHECK: dataflow.gather_nd %{{.*}}, %{{.*}} : tensor<5x7xf32>, tensor<4x2xi64> -> tensor<4xf32>
  %2 = dataflow.gather_nd %d, %t : tensor<5x7xf32>, tensor<4x2xi64> -> tensor<4xf32>
  // CHECK: dataflow.scatter_elements add %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64>, tensor<3x7xf32> -> tensor<5x7xf32>
  %3 = dataflow.scatter_elements add %d, %i, %u {axis = 0 : i64} : tensor<5x7xf32>, tensor<3x7xi64>, tensor<3x7xf32> -> tensor<5x7xf32>
  // CHECK: dataflow.scatter_nd none %{{.*}}, %{{.*}}, %{{.*}} : tensor<5x7xf32>, tensor<4x2xi64>, tensor<4xf32> -> tensor<5x7xf32>
  %4 = dataflow.scatter_nd none %d, %t, %w : tensor<5x7xf32>, tensor<4x2xi64>, tensor<4xf32> -> tensor<5x7xf32>
  // CHECK: dataflow.one_hot %{{.*}}, %{{.*}} {axis = 2 : i64, depth = 9 : i64} : tensor<3x7xi64>, tensor<2xf32> -> tensor<3x7x9xf32>
  %5 = dataflow.one_hot %i, %v {axis = 2 : i64, depth = 9 : i64} : tensor<3x7xi64>, tensor<2xf32> -> tensor<3x7x9xf32>
  return
}

// CHECK-LABEL: func.func @numbers
func.func @numbers() -> tensor<2xi64> {
  // CHECK: dataflow.extents {{.*}} of <"sequence" = 1 to 512> : tensor<2xi64>
  %0 = dataflow.extents affine_map<()[s0] -> (s0 - 1, 4)> of <"sequence" = 1 to 512> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
