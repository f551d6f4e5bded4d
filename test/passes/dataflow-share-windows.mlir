// Overlapping windows of one signal share the rows of convolutions, poolings and element-wise operators.
// RUN: sluice-opt --split-input-file --dataflow-share-windows %s | FileCheck %s

// Windows at 0, 4 and 8 of 10 rows: 18 of 30 rows are computed, and the pooling of stride 2 moves them to 0, 2 and 4.
// CHECK-LABEL: func.func @windows
// CHECK-NEXT: [[PART:%.*]] = dataflow.slice %arg0 from [0, 0, 1, 0] by [1, 1, 1, 1] : tensor<1x1x20x6xf32> -> tensor<1x1x18x6xf32>
// CHECK-NEXT: [[CONV:%.*]] = dataflow.conv [[PART]], %arg1 strides [1, 1] pads [0, 1, 0, 1]{{.*}} -> tensor<1x4x16x6xf32>
// CHECK-NEXT: [[SUM:%.*]] = dataflow.binary add [[CONV]], %arg2 : tensor<1x4x16x6xf32>, tensor<1x4x1x1xf32>
// CHECK-NEXT: [[POOL:%.*]] = dataflow.pool max [[SUM]]{{.*}} -> tensor<1x4x8x3xf32>
// CHECK-NEXT: [[TURN:%.*]] = dataflow.transpose [[POOL]] [0, 2, 3, 1] : tensor<1x4x8x3xf32>
// CHECK-NEXT: [[ROWS:%.*]] = dataflow.matmul [[TURN]], %arg3 : tensor<1x8x3x4xf32>, tensor<4x2xf32>
// CHECK-NEXT: [[A:%.*]] = dataflow.slice [[ROWS]] from [0, 0, 0, 0]{{.*}} -> tensor<1x4x3x2xf32>
// CHECK-NEXT: [[B:%.*]] = dataflow.slice [[ROWS]] from [0, 2, 0, 0]{{.*}} -> tensor<1x4x3x2xf32>
// CHECK-NEXT: [[C:%.*]] = dataflow.slice [[ROWS]] from [0, 4, 0, 0]{{.*}} -> tensor<1x4x3x2xf32>
// CHECK-NEXT: [[STACK:%.*]] = dataflow.concat [[A]], [[B]], [[C]] {axis = 0 : i64}
// CHECK-NEXT: return [[STACK]]
func.func @windows(%x: tensor<1x1x20x6xf32>, %w: tensor<4x1x3x3xf32>, %bias: tensor<1x4x1x1xf32>, %m: tensor<4x2xf32>) -> tensor<3x4x3x2xf32> {
  %0 = dataflow.slice %x from [0, 0, 1, 0] by [1, 1, 1, 1] : tensor<1x1x20x6xf32> -> tensor<1x1x10x6xf32>
  %1 = dataflow.slice %x from [0, 0, 5, 0] by [1, 1, 1, 1] : tensor<1x1x20x6xf32> -> tensor<1x1x10x6xf32>
  %2 = dataflow.slice %x from [0, 0, 9, 0] by [1, 1, 1, 1] : tensor<1x1x20x6xf32> -> tensor<1x1x10x6xf32>
  %a = dataflow.reshape %0 : tensor<1x1x10x6xf32> -> tensor<1x10x6x1xf32>
  %b = dataflow.reshape %1 : tensor<1x1x10x6xf32> -> tensor<1x10x6x1xf32>
  %c = dataflow.reshape %2 : tensor<1x1x10x6xf32> -> tensor<1x10x6x1xf32>
  %3 = dataflow.concat %a, %b, %c {axis = 0 : i64} : tensor<1x10x6x1xf32>, tensor<1x10x6x1xf32>, tensor<1x10x6x1xf32> -> tensor<3x10x6x1xf32>
  %4 = dataflow.reshape %3 : tensor<3x10x6x1xf32> -> tensor<3x1x10x6xf32>
  %5 = dataflow.conv %4, %w strides [1, 1] pads [0, 1, 0, 1] dilations [1, 1] : tensor<3x1x10x6xf32>, tensor<4x1x3x3xf32> -> tensor<3x4x8x6xf32>
  %6 = dataflow.binary add %5, %bias : tensor<3x4x8x6xf32>, tensor<1x4x1x1xf32>
  %7 = dataflow.pool max %6 kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : tensor<3x4x8x6xf32> -> tensor<3x4x4x3xf32>
  %8 = dataflow.transpose %7 [0, 2, 3, 1] : tensor<3x4x4x3xf32>
  %9 = dataflow.matmul %8, %m : tensor<3x4x3x4xf32>, tensor<4x2xf32>
  return %9 : tensor<3x4x3x2xf32>
}

// -----

// A value that is read elsewhere is a stack again, and operators behind it still share.
// CHECK-LABEL: func.func @read_twice
// CHECK: [[CONV:%.*]] = dataflow.conv {{.*}} -> tensor<1x4x10xf32>
// CHECK: [[STACK:%.*]] = dataflow.concat {{.*}} -> tensor<2x4x8xf32>
// CHECK: dataflow.conv [[CONV]], %arg2 {{.*}} -> tensor<1x9x8xf32>
// CHECK: return {{%.*}}, [[STACK]]
func.func @read_twice(%x: tensor<1x3x12xf32>, %w: tensor<4x3x3xf32>, %w2: tensor<9x4x3xf32>) -> (tensor<2x9x6xf32>, tensor<2x4x8xf32>) {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %b = dataflow.slice %x from [0, 0, 2] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %0 = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1x3x10xf32>, tensor<1x3x10xf32> -> tensor<2x3x10xf32>
  %1 = dataflow.conv %0, %w strides [1] pads [0, 0] dilations [1] : tensor<2x3x10xf32>, tensor<4x3x3xf32> -> tensor<2x4x8xf32>
  %2 = dataflow.conv %1, %w2 strides [1] pads [0, 0] dilations [1] : tensor<2x4x8xf32>, tensor<9x4x3xf32> -> tensor<2x9x6xf32>
  return %2, %1 : tensor<2x9x6xf32>, tensor<2x4x8xf32>
}

// -----

// Padding along the windows: the first rows of a window differ from the same rows of the signal.
// CHECK-LABEL: func.func @padded
// CHECK: dataflow.conv {{.*}} -> tensor<2x4x10xf32>
func.func @padded(%x: tensor<1x3x12xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x4x10xf32> {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %b = dataflow.slice %x from [0, 0, 2] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %0 = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1x3x10xf32>, tensor<1x3x10xf32> -> tensor<2x3x10xf32>
  %1 = dataflow.conv %0, %w strides [1] pads [1, 1] dilations [1] : tensor<2x3x10xf32>, tensor<4x3x3xf32> -> tensor<2x4x10xf32>
  return %1 : tensor<2x4x10xf32>
}

// -----

// A stride of 4 does not reach the second window, which begins at 2.
// CHECK-LABEL: func.func @between_strides
// CHECK: dataflow.conv {{.*}} -> tensor<2x4x3xf32>
func.func @between_strides(%x: tensor<1x3x13xf32>, %w: tensor<4x3x3xf32>) -> tensor<2x4x3xf32> {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x13xf32> -> tensor<1x3x11xf32>
  %b = dataflow.slice %x from [0, 0, 2] by [1, 1, 1] : tensor<1x3x13xf32> -> tensor<1x3x11xf32>
  %0 = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1x3x11xf32>, tensor<1x3x11xf32> -> tensor<2x3x11xf32>
  %1 = dataflow.conv %0, %w strides [4] pads [0, 0] dilations [1] : tensor<2x3x11xf32>, tensor<4x3x3xf32> -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// -----

// The added tensor differs from window to window.
// CHECK-LABEL: func.func @other_operand
// CHECK: dataflow.binary add {{.*}} : tensor<2x3x10xf32>, tensor<2x1x1xf32>
func.func @other_operand(%x: tensor<1x3x12xf32>, %bias: tensor<2x1x1xf32>) -> tensor<2x3x10xf32> {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %b = dataflow.slice %x from [0, 0, 2] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %0 = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1x3x10xf32>, tensor<1x3x10xf32> -> tensor<2x3x10xf32>
  %1 = dataflow.binary add %0, %bias : tensor<2x3x10xf32>, tensor<2x1x1xf32>
  return %1 : tensor<2x3x10xf32>
}

// -----

// Windows side by side share no rows; one addition saves less than the slices behind it cost.
// CHECK-LABEL: func.func @not_worthwhile
// CHECK: dataflow.conv {{.*}} -> tensor<2x4x4xf32>
// CHECK: dataflow.binary add {{.*}} : tensor<2x3x10xf32>, tensor<3x1xf32>
func.func @not_worthwhile(%x: tensor<1x3x12xf32>, %w: tensor<4x3x3xf32>, %bias: tensor<3x1xf32>) -> (tensor<2x4x4xf32>, tensor<2x3x10xf32>) {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x6xf32>
  %b = dataflow.slice %x from [0, 0, 6] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x6xf32>
  %0 = dataflow.concat %a, %b {axis = 0 : i64} : tensor<1x3x6xf32>, tensor<1x3x6xf32> -> tensor<2x3x6xf32>
  %1 = dataflow.conv %0, %w strides [1] pads [0, 0] dilations [1] : tensor<2x3x6xf32>, tensor<4x3x3xf32> -> tensor<2x4x4xf32>
  %c = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %d = dataflow.slice %x from [0, 0, 2] by [1, 1, 1] : tensor<1x3x12xf32> -> tensor<1x3x10xf32>
  %2 = dataflow.concat %c, %d {axis = 0 : i64} : tensor<1x3x10xf32>, tensor<1x3x10xf32> -> tensor<2x3x10xf32>
  %3 = dataflow.binary add %2, %bias : tensor<2x3x10xf32>, tensor<3x1xf32>
  return %1, %3 : tensor<2x4x4xf32>, tensor<2x3x10xf32>
}

// -----

// A convolution as long as a window has 3 rows for the windows and 17 on the signal: it reads the stack.
// CHECK-LABEL: func.func @head
// CHECK: dataflow.conv {{.*}} -> tensor<1x64x46xf32>
// CHECK-NEXT: [[SECOND:%.*]] = dataflow.conv {{.*}} -> tensor<1x64x44xf32>
// CHECK: [[STACK:%.*]] = dataflow.concat {{.*}} -> tensor<3x64x28xf32>
// CHECK-NEXT: dataflow.conv [[STACK]], {{.*}} -> tensor<3x16x1xf32>
func.func @head(%x: tensor<1x64x48xf32>, %k: tensor<64x64x3xf32>, %k2: tensor<64x64x3xf32>, %w: tensor<16x64x28xf32>) -> tensor<3x16x1xf32> {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %b = dataflow.slice %x from [0, 0, 8] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %c = dataflow.slice %x from [0, 0, 16] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %0 = dataflow.concat %a, %b, %c {axis = 0 : i64} : tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32> -> tensor<3x64x32xf32>
  %1 = dataflow.conv %0, %k strides [1] pads [0, 0] dilations [1] : tensor<3x64x32xf32>, tensor<64x64x3xf32> -> tensor<3x64x30xf32>
  %2 = dataflow.conv %1, %k2 strides [1] pads [0, 0] dilations [1] : tensor<3x64x30xf32>, tensor<64x64x3xf32> -> tensor<3x64x28xf32>
  %3 = dataflow.conv %2, %w strides [1] pads [0, 0] dilations [1] : tensor<3x64x28xf32>, tensor<16x64x28xf32> -> tensor<3x16x1xf32>
  return %3 : tensor<3x16x1xf32>
}

// -----

// A head that costs more than everything before it does not keep the first convolution from sharing.
// CHECK-LABEL: func.func @large_head
// CHECK: dataflow.conv {{.*}} -> tensor<1x64x46xf32>
// CHECK: dataflow.conv {{.*}} -> tensor<3x64x1xf32>
func.func @large_head(%x: tensor<1x64x48xf32>, %k: tensor<64x64x3xf32>, %w: tensor<64x64x30xf32>) -> tensor<3x64x1xf32> {
  %a = dataflow.slice %x from [0, 0, 0] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %b = dataflow.slice %x from [0, 0, 8] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %c = dataflow.slice %x from [0, 0, 16] by [1, 1, 1] : tensor<1x64x48xf32> -> tensor<1x64x32xf32>
  %0 = dataflow.concat %a, %b, %c {axis = 0 : i64} : tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32> -> tensor<3x64x32xf32>
  %1 = dataflow.conv %0, %k strides [1] pads [0, 0] dilations [1] : tensor<3x64x32xf32>, tensor<64x64x3xf32> -> tensor<3x64x30xf32>
  %2 = dataflow.conv %1, %w strides [1] pads [0, 0] dilations [1] : tensor<3x64x30xf32>, tensor<64x64x30xf32> -> tensor<3x64x1xf32>
  return %2 : tensor<3x64x1xf32>
}
