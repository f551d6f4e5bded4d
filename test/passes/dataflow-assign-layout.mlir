// RUN: sluice-opt %s --dataflow-assign-layout | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout='lanes=4 registers=16' | FileCheck %s --check-prefix=NARROW

// A convolution with constant weights reads and writes channels last. Weights
// beyond the limit of folding are packed when they are written.
// CHECK-LABEL: func.func @conv
// CHECK-SAME: (%[[X:.*]]: tensor<1x128x6x5xf32>)
// NARROW-LABEL: func.func @conv
func.func @conv(%x: tensor<1x128x6x5xf32>) -> tensor<1x16x6x5xf32> {
  // CHECK-DAG: %[[W:.*]] = dataflow.pack_conv_weight %{{.*}} {block = 16 : i64, groups = 1 : i64} : tensor<16x128x3x3xf32> -> tensor<1x1x3x3x128x16xf32>
  // CHECK-DAG: %[[LAST:.*]] = dataflow.transpose %[[X]] [0, 2, 3, 1]
  // CHECK: %[[Y:.*]] = dataflow.conv %[[LAST]], %[[W]] {{.*}}kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 16 : i64} : tensor<1x6x5x128xf32>, tensor<1x1x3x3x128x16xf32> -> tensor<1x6x5x16xf32>
  // CHECK: %[[FIRST:.*]] = dataflow.transpose %[[Y]] [0, 3, 1, 2]
  // CHECK: return %[[FIRST]]
  // NARROW: dataflow.pack_conv_weight %{{.*}} {block = 8 : i64, groups = 1 : i64} : tensor<16x128x3x3xf32> -> tensor<1x2x3x3x128x8xf32>
  %w = dataflow.constant dense<1.0> : tensor<16x128x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x128x6x5xf32>, tensor<16x128x3x3xf32> -> tensor<1x16x6x5xf32>
  return %0 : tensor<1x16x6x5xf32>
}

// A library takes weights channels last too, and not packed.
// CHECK-LABEL: func.func @of_a_library
// CHECK-SAME: (%[[X:.*]]: tensor<1x128x6x5xf32>)
func.func @of_a_library(%x: tensor<1x128x6x5xf32>) -> tensor<1x16x6x5xf32> {
  // CHECK-DAG: %[[W:.*]] = dataflow.transpose %{{.*}} [0, 2, 3, 1] : tensor<16x128x3x3xf32>
  // CHECK-DAG: %[[LAST:.*]] = dataflow.transpose %[[X]] [0, 2, 3, 1]
  // CHECK: %[[Y:.*]] = dataflow.conv %[[LAST]], %[[W]] {{.*}}{layout = #dataflow<layout channels_last>, library = 64 : i64, weight_layout = #dataflow<layout channels_last>} : tensor<1x6x5x128xf32>, tensor<16x3x3x128xf32> -> tensor<1x6x5x16xf32>
  // CHECK: %[[FIRST:.*]] = dataflow.transpose %[[Y]] [0, 3, 1, 2]
  // CHECK: return %[[FIRST]]
  %w = dataflow.constant dense<1.0> : tensor<16x128x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {library = 64 : i64} : tensor<1x128x6x5xf32>, tensor<16x128x3x3xf32> -> tensor<1x16x6x5xf32>
  return %0 : tensor<1x16x6x5xf32>
}

// Transpositions sink through what commutes with them and cancel: two are left,
// at the ends. The bias, one number a channel, changes its shape alone.
// CHECK-LABEL: func.func @residual
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x6x5xf32>)
func.func @residual(%x: tensor<1x8x6x5xf32>) -> tensor<1x8x3x3xf32> {
  // CHECK: %[[LAST:.*]] = dataflow.transpose %[[X]] [0, 2, 3, 1]
  // CHECK-NOT: dataflow.transpose
  // CHECK: dataflow.conv
  // CHECK: dataflow.binary add {{.*}} : tensor<1x6x5x8xf32>, tensor<1x1x1x8xf32>
  // CHECK: dataflow.unary relu
  // CHECK: dataflow.conv
  // CHECK: dataflow.binary add {{.*}} : tensor<1x6x5x8xf32>, tensor<1x6x5x8xf32>
  // CHECK: %[[POOL:.*]] = dataflow.pool max {{.*}} {layout = #dataflow<layout channels_last>} : tensor<1x6x5x8xf32> -> tensor<1x3x3x8xf32>
  // CHECK: %[[Y:.*]] = dataflow.transpose %[[POOL]] [0, 3, 1, 2]
  // CHECK: return %[[Y]]
  %w = dataflow.constant dense<1.0> : tensor<8x8x3x3xf32>
  %bias = dataflow.constant dense<[[[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]]]> : tensor<8x1x1xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x6x5xf32>
  %1 = dataflow.binary add %0, %bias : tensor<1x8x6x5xf32>, tensor<8x1x1xf32>
  %2 = dataflow.unary relu %1 : tensor<1x8x6x5xf32>
  %3 = dataflow.conv %2, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x8x6x5xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x6x5xf32>
  %4 = dataflow.binary add %3, %2 : tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32>
  %5 = dataflow.pool max %4 kernel [3, 3] strides [2, 2] pads [1, 1] to [1, 1] dilations [1, 1] : tensor<1x8x6x5xf32> -> tensor<1x8x3x3xf32>
  return %5 : tensor<1x8x3x3xf32>
}

// An operator's axes and numbers follow its dimensions.
// CHECK-LABEL: func.func @sinks
// CHECK-SAME: (%[[X:.*]]: tensor<1x6x5x8xf32>)
func.func @sinks(%x: tensor<1x6x5x8xf32>) -> (tensor<1x16x6x5xf32>, tensor<1x8x1x1xf32>, tensor<1x8x7x5xf32>, tensor<1x8x6x5xf32>, tensor<1x4x6x5xf32>) {
  %first = dataflow.transpose %x [0, 3, 1, 2] : tensor<1x6x5x8xf32>
  // CHECK-DAG: dataflow.concat %[[X]], %[[X]] {axis = 3 : i64} : tensor<1x6x5x8xf32>, tensor<1x6x5x8xf32> -> tensor<1x6x5x16xf32>
  %0 = dataflow.concat %first, %first {axis = 1 : i64} : tensor<1x8x6x5xf32>, tensor<1x8x6x5xf32> -> tensor<1x16x6x5xf32>
  // The result's transposition moves only extents of 1.
  // CHECK-DAG: %[[MEAN:.*]] = dataflow.reduce mean %[[X]] axes [1, 2] {keep_dims = true} : tensor<1x6x5x8xf32> -> tensor<1x1x1x8xf32>
  // CHECK-DAG: dataflow.reshape %[[MEAN]] : tensor<1x1x1x8xf32> -> tensor<1x8x1x1xf32>
  %1 = dataflow.reduce mean %first axes [2, 3] {keep_dims = true} : tensor<1x8x6x5xf32> -> tensor<1x8x1x1xf32>
  // CHECK-DAG: dataflow.pad constant %[[X]], %{{.*}} low [0, 1, 0, 0] : (tensor<1x6x5x8xf32>, tensor<f32>) -> tensor<1x7x5x8xf32>
  %zero = dataflow.constant dense<0.0> : tensor<f32>
  %2 = dataflow.pad constant %first, %zero low [0, 0, 1, 0] : (tensor<1x8x6x5xf32>, tensor<f32>) -> tensor<1x8x7x5xf32>
  // CHECK-DAG: dataflow.softmax %[[X]] {axis = 3 : i64} : tensor<1x6x5x8xf32> -> tensor<1x6x5x8xf32>
  %3 = dataflow.softmax %first {axis = 1 : i64} : tensor<1x8x6x5xf32> -> tensor<1x8x6x5xf32>
  // CHECK-DAG: dataflow.slice %[[X]] from [0, 0, 0, 4] by [1, 1, 1, 1] : tensor<1x6x5x8xf32> -> tensor<1x6x5x4xf32>
  %4 = dataflow.slice %first from [0, 4, 0, 0] by [1, 1, 1, 1] : tensor<1x8x6x5xf32> -> tensor<1x4x6x5xf32>
  return %0, %1, %2, %3, %4 : tensor<1x16x6x5xf32>, tensor<1x8x1x1xf32>, tensor<1x8x7x5xf32>, tensor<1x8x6x5xf32>, tensor<1x4x6x5xf32>
}

// A signal is an image of height 1.
// CHECK-LABEL: func.func @signal
func.func @signal(%x: tensor<2x4x16xf32>) -> tensor<2x16x8xf32> {
  // CHECK: dataflow.conv {{.*}} strides [1, 2] pads [0, 1, 0, 1] dilations [1, 1] {{.*}}kernel = array<i64: 1, 3>, {{.*}} : tensor<2x1x16x4xf32>, {{.*}} -> tensor<2x1x8x16xf32>
  // CHECK: dataflow.reshape {{.*}} -> tensor<2x16x8xf32>
  %w = dataflow.constant dense<1.0> : tensor<16x4x3xf32>
  %0 = dataflow.conv %x, %w strides [2] pads [1, 1] dilations [1] : tensor<2x4x16xf32>, tensor<16x4x3xf32> -> tensor<2x16x8xf32>
  return %0 : tensor<2x16x8xf32>
}

// Small weights are packed now; channels fill up to the block.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<1x20x6x5xf32>) -> tensor<1x20x6x5xf32> {
  // CHECK: %[[W:.*]] = dataflow.constant dense<{{.*}}> : tensor<1x1x32xf32>
  // CHECK: dataflow.conv %{{.*}}, %[[W]] {{.*}} {groups = 20 : i64, {{.*}} packed_channels = 20 : i64}
  %w = dataflow.constant dense<1.0> : tensor<20x1x1x1xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] {groups = 20 : i64} : tensor<1x20x6x5xf32>, tensor<20x1x1x1xf32> -> tensor<1x20x6x5xf32>
  return %0 : tensor<1x20x6x5xf32>
}

// Constant right-hand sides become panels; what was transposed no longer is.
// CHECK-LABEL: func.func @matmuls
// NARROW-LABEL: func.func @matmuls
func.func @matmuls(%x: tensor<4x512xf32>, %h: tensor<2x4x8xf16>) -> (tensor<4x40xf32>, tensor<2x4x5000xf16>) {
  // CHECK-DAG: %[[P:.*]] = dataflow.pack_matmul_rhs %{{[a-z0-9_]+}} {block = [[BLOCK:[0-9]+]] : i64} : tensor<512x40xf32> -> tensor<{{[0-9]+}}x512x[[BLOCK]]xf32>
  // CHECK-DAG: dataflow.matmul %{{.*}}, %[[P]] packed 40 : tensor<4x512xf32>
  // NARROW-DAG: dataflow.pack_matmul_rhs %{{[a-z0-9_]+}} {block = 8 : i64} : tensor<512x40xf32> -> tensor<5x512x8xf32>
  %w = dataflow.constant dense<1.0> : tensor<512x40xf32>
  %0 = dataflow.matmul %x, %w : tensor<4x512xf32>, tensor<512x40xf32>
  // CHECK-DAG: %[[Q:.*]] = dataflow.pack_matmul_rhs %{{[a-z0-9_]+}} transposed {{.*}} : tensor<5000x8xf16>
  // CHECK-DAG: dataflow.matmul %{{.*}}, %[[Q]] packed 5000 : tensor<2x4x8xf16>
  %v = dataflow.constant dense<1.0> : tensor<5000x8xf16>
  %1 = dataflow.matmul %h, %v transposed : tensor<2x4x8xf16>, tensor<5000x8xf16>
  return %0, %1 : tensor<4x40xf32>, tensor<2x4x5000xf16>
}

// What follows from constants alone is as constant.
// CHECK-LABEL: func.func @constant_expression
func.func @constant_expression(%x: tensor<4x256xf32>) -> tensor<4x256xf32> {
  // CHECK: %[[E:.*]] = dataflow.binary mul
  // CHECK: dataflow.pack_matmul_rhs %[[E]]
  %w = dataflow.constant dense<1.0> : tensor<256x256xf32>
  %c = dataflow.constant dense<2.0> : tensor<256xf32>
  %0 = dataflow.binary mul %w, %c : tensor<256x256xf32>, tensor<256xf32>
  %1 = dataflow.matmul %x, %0 : tensor<4x256xf32>, tensor<256x256xf32>
  return %1 : tensor<4x256xf32>
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
