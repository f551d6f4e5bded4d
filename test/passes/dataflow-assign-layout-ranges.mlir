// RUN: sluice-opt %s --dataflow-assign-layout='conv=auto dynamic' | FileCheck %s

// The number of images, or their size, is a symbol: tiles gain at both bounds.
// CHECK-LABEL: func.func @batch
func.func @batch(%x: tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>) -> tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>> {
  // CHECK: dataflow.conv {{.*}}algorithm = #dataflow<conv_algorithm winograd4>
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>, tensor<64x64x3x3xf32> -> tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>
  return %0 : tensor<8x64x56x56xf32, #dataflow.extents<()[s0] -> (s0, 64, 56, 56), <"n" = 1 to 8>>>
}

// Few outputs of deep filters at the lower bounds are not worth reading weights that are four times as large.
// CHECK-LABEL: func.func @deep
func.func @deep(%x: tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>) -> tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>> {
  // CHECK-NOT: winograd
  %w = dataflow.constant dense<1.0> : tensor<512x512x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>, tensor<512x512x3x3xf32> -> tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>
  return %0 : tensor<1x512x8x8xf32, #dataflow.extents<()[s0, s1] -> (1, 512, s0, s1), <"h" = 1 to 8, "w" = 1 to 8>>>
}

// Phases of a transposed convolution are channels of a pointwise one.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<1x24x80x80xf32, #dataflow.extents<()[s0, s1] -> (1, 24, s0 * 8, s1 * 8), <"h" = 2 to 10, "w" = 2 to 10>>>) -> tensor<1x4x160x160xf32, #dataflow.extents<()[s0, s1] -> (1, 4, s0 * 16, s1 * 16), <"h" = 2 to 10, "w" = 2 to 10>>> {
  // CHECK: dataflow.conv {{.*}} -> tensor<1x80x80x16xf32, #dataflow.extents<()[s0, s1] -> (1, s0 * 8, s1 * 8, 16), <"h" = 2 to 10, "w" = 2 to 10>>>
  // CHECK: dataflow.transpose {{.*}} [4, 0, 2, 1, 3] : tensor<80x80x2x2x4xf32,
  // CHECK-NOT: dataflow.conv_transpose
  %w = dataflow.constant dense<1.0> : tensor<24x4x2x2xf32>
  %0 = dataflow.conv_transpose %x, %w strides [2, 2] pads_low [0, 0] dilations [1, 1] : (tensor<1x24x80x80xf32, #dataflow.extents<()[s0, s1] -> (1, 24, s0 * 8, s1 * 8), <"h" = 2 to 10, "w" = 2 to 10>>>, tensor<24x4x2x2xf32>) -> tensor<1x4x160x160xf32, #dataflow.extents<()[s0, s1] -> (1, 4, s0 * 16, s1 * 16), <"h" = 2 to 10, "w" = 2 to 10>>>
  return %0 : tensor<1x4x160x160xf32, #dataflow.extents<()[s0, s1] -> (1, 4, s0 * 16, s1 * 16), <"h" = 2 to 10, "w" = 2 to 10>>>
}
