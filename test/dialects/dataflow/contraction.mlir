// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<5x1x4x8xf32>, %d: tensor<3x6x8xf32>) {
  // CHECK: dataflow.matmul %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x6xf32>
  %0 = dataflow.matmul %a, %b : tensor<4x8xf32>, tensor<8x6xf32>
  // CHECK: %[[BATCH:.*]] = dataflow.matmul %{{.*}}, %{{.*}} transposed : tensor<5x1x4x8xf32>, tensor<3x6x8xf32>
  %1 = dataflow.matmul %c, %d transposed : tensor<5x1x4x8xf32>, tensor<3x6x8xf32>
  // CHECK: dataflow.unary relu %[[BATCH]] : tensor<5x3x4x6xf32>
  %2 = dataflow.unary relu %1 : tensor<5x3x4x6xf32>
  // CHECK: dataflow.matmul %{{.*}} transposed, %{{.*}} : tensor<4x8xf32>, tensor<4x6xf32>
  %3 = dataflow.matmul %a transposed, %0 : tensor<4x8xf32>, tensor<4x6xf32>
  // CHECK: dataflow.pack_matmul_rhs %{{.*}} transposed {block = 4 : i64} : tensor<3x6x8xf32> -> tensor<3x2x8x4xf32>
  %4 = dataflow.pack_matmul_rhs %d transposed {block = 4 : i64} : tensor<3x6x8xf32> -> tensor<3x2x8x4xf32>
  // CHECK: dataflow.matmul %{{.*}}, %{{.*}} packed 6 : tensor<5x1x4x8xf32>, tensor<3x2x8x4xf32>
  %5 = dataflow.matmul %c, %4 packed 6 : tensor<5x1x4x8xf32>, tensor<3x2x8x4xf32>
  return
}

// CHECK-LABEL: func.func @winograd
func.func @winograd(%x: tensor<1x9x11x40xf32>, %w: tensor<6x40x3x3xf32>) {
  // CHECK: dataflow.pack_winograd_weight winograd4 %{{.*}} {depth = 32 : i64, panel = 8 : i64} : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
  %0 = dataflow.pack_winograd_weight winograd4 %w {depth = 32 : i64, panel = 8 : i64} : tensor<6x40x3x3xf32> -> tensor<2x1x36x32x8xf32>
  // CHECK: dataflow.conv {{.*}} {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 1.000000e-05 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64}
  %1 = dataflow.conv %x, %0 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {algorithm = #dataflow<conv_algorithm winograd4>, error_bound = 1.0e-5 : f64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x40xf32>, tensor<2x1x36x32x8xf32> -> tensor<1x9x11x6xf32>
  return
}

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x4x9x11xf32>, %w: tensor<6x2x3x3xf32>, %last: tensor<1x9x11x4xf32>, %wlast: tensor<6x3x3x2xf32>) {
  // CHECK: dataflow.conv %{{.*}}, %{{.*}} strides [2, 1] pads [1, 1, 1, 1] dilations [1, 2] {groups = 2 : i64} : tensor<1x4x9x11xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x5x9xf32>
  %0 = dataflow.conv %x, %w strides [2, 1] pads [1, 1, 1, 1] dilations [1, 2] {groups = 2 : i64} : tensor<1x4x9x11xf32>, tensor<6x2x3x3xf32> -> tensor<1x6x5x9xf32>
  // CHECK: dataflow.pack_conv_weight %{{.*}} {block = 8 : i64, groups = 2 : i64} : tensor<6x2x3x3xf32> -> tensor<2x1x3x3x2x8xf32>
  %1 = dataflow.pack_conv_weight %w {block = 8 : i64, groups = 2 : i64} : tensor<6x2x3x3xf32> -> tensor<2x1x3x3x2x8xf32>
  // CHECK: dataflow.conv {{.*}} kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x4xf32>, tensor<2x1x3x3x2x8xf32> -> tensor<1x9x11x6xf32>
  %2 = dataflow.conv %last, %1 strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 6 : i64} : tensor<1x9x11x4xf32>, tensor<2x1x3x3x2x8xf32> -> tensor<1x9x11x6xf32>
  // CHECK: dataflow.conv {{.*}} {groups = 2 : i64, layout = #dataflow<layout channels_last>, library = 64 : i64, weight_layout = #dataflow<layout channels_last>} : tensor<1x9x11x4xf32>, tensor<6x3x3x2xf32> -> tensor<1x9x11x6xf32>
  %4 = dataflow.conv %last, %wlast strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64, layout = #dataflow<layout channels_last>, library = 64 : i64, weight_layout = #dataflow<layout channels_last>} : tensor<1x9x11x4xf32>, tensor<6x3x3x2xf32> -> tensor<1x9x11x6xf32>
  // CHECK: dataflow.conv_transpose %{{.*}}, %{{.*}} strides [2, 2] pads_low [0, 1] dilations [1, 1] {groups = 2 : i64} : (tensor<1x6x5x9xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x11x18xf32>
  %3 = dataflow.conv_transpose %0, %w strides [2, 2] pads_low [0, 1] dilations [1, 1] {groups = 2 : i64} : (tensor<1x6x5x9xf32>, tensor<6x2x3x3xf32>) -> tensor<1x4x11x18xf32>
  return
}
