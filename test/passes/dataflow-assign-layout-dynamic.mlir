// RUN: sluice-opt %s --dataflow-assign-layout=dynamic | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout | FileCheck %s --check-prefix=CONSTANT

// A trained weight is packed in each step; without the option it stays as it is.
// CHECK-LABEL: func.func @trained
// CONSTANT-LABEL: func.func @trained
func.func @trained(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x8x8xf32> {
  // CHECK: %[[W:.*]] = dataflow.state "w"
  // CHECK: dataflow.pack_conv_weight %[[W]]
  // CHECK: dataflow.conv {{.*}}channels_last
  // CONSTANT-NOT: pack_conv_weight
  // CONSTANT: dataflow.conv %{{.*}}, %{{.*}} strides [1, 1] pads [1, 1, 1, 1]
  %w = dataflow.state "w" trainable dense<0.5> : tensor<16x3x3x3xf32>
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1]
    : tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32> -> tensor<1x16x8x8xf32>
  return %y : tensor<1x16x8x8xf32>
}

// A kernel of 4 has two taps for each of the four places of a result in a stride of 2 x 2, which become channels.
// CHECK-LABEL: func.func @phases
// CONSTANT-LABEL: func.func @phases
func.func @phases(%x: tensor<1x4x5x5xf32>, %w: tensor<4x6x4x4xf32>) -> tensor<1x6x10x10xf32> {
  // CHECK: %[[R:.*]] = dataflow.reshape %arg1 : tensor<4x6x4x4xf32> -> tensor<4x6x2x2x2x2xf32>
  // CHECK: %[[T:.*]] = dataflow.transpose %[[R]] [3, 5, 1, 0, 2, 4]
  // CHECK: dataflow.slice {{.*}} from [0, 0, 1, 1] by [1, 1, -1, -1] : tensor<24x4x2x2xf32>
  // CHECK-NOT: dataflow.pad
  // CHECK: dataflow.conv {{.*}} strides [1, 1] pads [1, 1, 1, 1] {{.*}} -> tensor<1x6x6x24xf32>
  // CHECK: dataflow.transpose {{.*}} [0, 2, 1, 3, 4] : tensor<6x6x2x2x6xf32>
  // CHECK: dataflow.slice {{.*}} from [0, 1, 1, 0] by [1, 1, 1, 1] : tensor<1x12x12x6xf32> -> tensor<1x10x10x6xf32>
  // CONSTANT: dataflow.conv_transpose
  %y = dataflow.conv_transpose %x, %w strides [2, 2] pads_low [1, 1] dilations [1, 1]
    : (tensor<1x4x5x5xf32>, tensor<4x6x4x4xf32>) -> tensor<1x6x10x10xf32>
  return %y : tensor<1x6x10x10xf32>
}

// With a dilation, zeros go between the input's elements, and the taps are reversed.
// CHECK-LABEL: func.func @transposed
// CONSTANT-LABEL: func.func @transposed
func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<4x6x3x3xf32>) -> tensor<1x6x10x10xf32> {
  // CHECK-NOT: conv_transpose
  // CHECK: dataflow.slice {{.*}} from [0, 0, 2, 2] by [1, 1, -1, -1]
  // CHECK: dataflow.pad constant
  // CHECK: dataflow.conv {{.*}} strides [1, 1] pads [{{.*}}]
  // CONSTANT: dataflow.conv_transpose
  %y = dataflow.conv_transpose %x, %w strides [2, 2] pads_low [2, 2] dilations [2, 2]
    : (tensor<1x4x5x5xf32>, tensor<4x6x3x3xf32>) -> tensor<1x6x10x10xf32>
  return %y : tensor<1x6x10x10xf32>
}

// Double precision has no such kernels.
// CHECK-LABEL: func.func @double
func.func @double(%x: tensor<1x4x5x5xf64>, %w: tensor<4x6x3x3xf64>) -> tensor<1x6x7x7xf64> {
  // CHECK: dataflow.conv_transpose
  %y = dataflow.conv_transpose %x, %w strides [1, 1] pads_low [0, 0] dilations [1, 1]
    : (tensor<1x4x5x5xf64>, tensor<4x6x3x3xf64>) -> tensor<1x6x7x7xf64>
  return %y : tensor<1x6x7x7xf64>
}
