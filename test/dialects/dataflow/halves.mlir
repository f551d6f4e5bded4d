// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<2x4x40xf16>, %w: tensor<40x6xf16>, %s: tensor<4x40xf32>, %v: tensor<40x6xf32>) {
  // CHECK: %[[P:.*]] = dataflow.pack_half_rhs %{{.*}} panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<40x6xf16>) -> tensor<4096xi8>
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<40x6xf16>) -> tensor<4096xi8>
  // CHECK: dataflow.half_matmul %{{.*}}, %[[P]] panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<2x4x40xf16>, tensor<4096xi8>) -> tensor<2x4x6xf16>
  %1 = dataflow.half_matmul %a, %0 panels <dot = tiles, parts = 2, columns = 6, segments = 1, length = 40, panel = 16> : (tensor<2x4x40xf16>, tensor<4096xi8>) -> tensor<2x4x6xf16>
  // One number of bf16 for an f32.
  // CHECK: %[[Q:.*]] = dataflow.pack_half_rhs %{{.*}} panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<40x6xf32>) -> tensor<640xi8>
  %2 = dataflow.pack_half_rhs %v panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<40x6xf32>) -> tensor<640xi8>
  // CHECK: dataflow.half_matmul %{{.*}}, %[[Q]] panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<4x40xf32>, tensor<640xi8>) -> tensor<4x6xf32>
  %3 = dataflow.half_matmul %s, %2 panels <dot = pairs, parts = 1, columns = 6, segments = 1, length = 40, panel = 8> : (tensor<4x40xf32>, tensor<640xi8>) -> tensor<4x6xf32>
  return
}

// Each tap is filled up on its own.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x9x9x40xbf16>, %w: tensor<360x16xbf16>) {
  // CHECK: dataflow.pack_half_rhs %{{.*}} -> tensor<18432xi8>
  %0 = dataflow.pack_half_rhs %w panels <dot = tiles, parts = 1, columns = 16, segments = 9, length = 40, panel = 16> : (tensor<360x16xbf16>) -> tensor<18432xi8>
  // CHECK: dataflow.half_conv %{{.*}}, %{{.*}} kernel [3, 3] strides [2, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 1, columns = 16, segments = 9, length = 40, panel = 16> : (tensor<1x9x9x40xbf16>, tensor<18432xi8>) -> tensor<1x5x9x16xbf16>
  %1 = dataflow.half_conv %x, %0 kernel [3, 3] strides [2, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 1, columns = 16, segments = 9, length = 40, panel = 16> : (tensor<1x9x9x40xbf16>, tensor<18432xi8>) -> tensor<1x5x9x16xbf16>
  return
}
