// RUN: sluice-opt %s --dataflow-assign-layout='conv=auto' | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout='conv=direct' | FileCheck %s --check-prefix=DIRECT
// DIRECT-NOT: shift_add

// Convolutions to three channels: each tap of a row becomes three of them.
// CHECK-LABEL: func.func @last_layer
func.func @last_layer(%x: tensor<1x32x64x64xf32>) -> tensor<1x3x64x64xf32> {
  %w = dataflow.constant dense<0.5> : tensor<3x32x9x9xf32>
  // CHECK: dataflow.conv %{{.*}} strides [1, 1] pads [4, 4, 4, 4] dilations [1, 1] {algorithm = #dataflow<conv_algorithm shift_add>, kernel = array<i64: 9, 9>, layout = #dataflow<layout channels_last>, packed_channels = 3 : i64} : tensor<1x64x64x32xf32>, tensor<1x1x9x1x32x32xf32> -> tensor<1x64x64x3xf32>
  %y = dataflow.conv %x, %w strides [1, 1] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x64x64xf32>
  return %y : tensor<1x3x64x64xf32>
}

// Strides along the height change nothing, along the width they would waste sums; vectors that are full stay so.
// CHECK-LABEL: func.func @strides
func.func @strides(%x: tensor<1x32x64x64xf32>) -> (tensor<1x3x32x64xf32>, tensor<1x3x64x32xf32>, tensor<1x16x64x64xf32>) {
  %w = dataflow.constant dense<0.5> : tensor<3x32x9x9xf32>
  %v = dataflow.constant dense<0.5> : tensor<16x32x5x5xf32>
  // CHECK: dataflow.conv {{.*}} strides [2, 1] {{.*}}shift_add
  %a = dataflow.conv %x, %w strides [2, 1] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x32x64xf32>
  // CHECK-NOT: shift_add
  %b = dataflow.conv %x, %w strides [1, 2] pads [4, 4, 4, 4] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<3x32x9x9xf32> -> tensor<1x3x64x32xf32>
  %c = dataflow.conv %x, %v strides [1, 1] pads [2, 2, 2, 2] dilations [1, 1] : tensor<1x32x64x64xf32>, tensor<16x32x5x5xf32> -> tensor<1x16x64x64xf32>
  return %a, %b, %c : tensor<1x3x32x64xf32>, tensor<1x3x64x32xf32>, tensor<1x16x64x64xf32>
}
