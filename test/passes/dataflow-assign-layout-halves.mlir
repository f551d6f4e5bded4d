// RUN: sluice-opt %s --dataflow-assign-layout='half=tiles' | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout='half=pairs round=true' | FileCheck %s --check-prefix=ROUND
// RUN: sluice-opt %s --dataflow-assign-layout='half=tiles round=true' | FileCheck %s --check-prefix=BOTH
// RUN: sluice-opt %s --dataflow-assign-layout | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --dataflow-assign-layout='half=triples' 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not sluice-opt %s --dataflow-assign-layout='round=true' 2>&1 | FileCheck %s --check-prefix=ALONE

// NONE-NOT: half_
// WRONG: 'triples' is unknown, option 'half' of dataflow-assign-layout, use none, pairs or tiles
// ALONE: option 'round' of dataflow-assign-layout needs half-precision instructions, give half = pairs or tiles

// An f16 is two numbers of bf16, which only tiles make up for; bf16 is one.
// CHECK-LABEL: func.func @products
// ROUND-LABEL: func.func @products
func.func @products(%a: tensor<2x20x100xf16>, %b: tensor<40x100xbf16>, %c: tensor<40x100xf32>) -> (tensor<2x20x50xf16>, tensor<40x50xbf16>, tensor<40x50xf32>) {
  // CHECK: dataflow.half_matmul %{{.*}} panels <dot = tiles, parts = 2, columns = 50, segments = 1, length = 100, panel = 32> : (tensor<2x20x100xf16>, tensor<32768xi8>) -> tensor<2x20x50xf16>
  // CHECK: dataflow.half_matmul %{{.*}} panels <dot = tiles, parts = 1, columns = 50, segments = 1, length = 100, panel = 32> : (tensor<40x100xbf16>, tensor<16384xi8>) -> tensor<40x50xbf16>
  // CHECK: dataflow.matmul %{{.*}} packed 50 : tensor<40x100xf32>
  // ROUND: dataflow.matmul %{{.*}} packed 50 : tensor<2x20x100xf16>
  // ROUND: dataflow.half_matmul %{{.*}} panels <dot = pairs, parts = 1, columns = 50, segments = 1, length = 100, panel = 32> : (tensor<40x100xbf16>, tensor<12800xi8>) -> tensor<40x50xbf16>
  // ROUND: dataflow.half_matmul %{{.*}} panels <dot = pairs, parts = 1, columns = 50, segments = 1, length = 100, panel = 32> : (tensor<40x100xf32>, tensor<12800xi8>) -> tensor<40x50xf32>
  %f16 = dataflow.constant dense<3.0> : tensor<100x50xf16>
  %bf16 = dataflow.constant dense<3.0> : tensor<50x100xbf16>
  %f32 = dataflow.constant dense<3.0> : tensor<100x50xf32>
  %0 = dataflow.matmul %a, %f16 : tensor<2x20x100xf16>, tensor<100x50xf16>
  %1 = dataflow.matmul %b, %bf16 transposed : tensor<40x100xbf16>, tensor<50x100xbf16>
  %2 = dataflow.matmul %c, %f32 : tensor<40x100xf32>, tensor<100x50xf32>
  return %0, %1, %2 : tensor<2x20x50xf16>, tensor<40x50xbf16>, tensor<40x50xf32>
}

// Few rows, terms or columns would be mostly padding; what is no constant is not packed.
// CHECK-LABEL: func.func @small
func.func @small(%a: tensor<7x100xf16>, %b: tensor<40x4xf16>, %c: tensor<40x100xf16>, %d: tensor<100x50xf16>) -> (tensor<7x50xf16>, tensor<40x50xf16>, tensor<40x3xf16>, tensor<40x50xf16>) {
  // CHECK-NOT: half_
  %wide = dataflow.constant dense<3.0> : tensor<100x50xf16>
  %short = dataflow.constant dense<3.0> : tensor<4x50xf16>
  %narrow = dataflow.constant dense<3.0> : tensor<100x3xf16>
  %0 = dataflow.matmul %a, %wide : tensor<7x100xf16>, tensor<100x50xf16>
  %1 = dataflow.matmul %b, %short : tensor<40x4xf16>, tensor<4x50xf16>
  %2 = dataflow.matmul %c, %narrow : tensor<40x100xf16>, tensor<100x3xf16>
  %3 = dataflow.matmul %c, %d : tensor<40x100xf16>, tensor<100x50xf16>
  return %0, %1, %2, %3 : tensor<7x50xf16>, tensor<40x50xf16>, tensor<40x3xf16>, tensor<40x50xf16>
}

// Rows too few for tiles: weights of rounded f32 have half their bytes as pairs, those of bf16 the same.
// CHECK-LABEL: func.func @vector
// ROUND-LABEL: func.func @vector
// BOTH-LABEL: func.func @vector
func.func @vector(%a: tensor<1x100xbf16>, %b: tensor<1x100xf32>) -> (tensor<1x50xbf16>, tensor<1x50xf32>) {
  // CHECK-NOT: half_
  // ROUND-COUNT-2: dataflow.half_matmul %{{.*}} panels <dot = pairs, parts = 1
  // BOTH: dataflow.matmul %{{.*}} packed 50 : tensor<1x100xbf16>
  // BOTH: dataflow.half_matmul %{{.*}} panels <dot = pairs, parts = 1, columns = 50, segments = 1, length = 100, panel = 32> : (tensor<1x100xf32>
  %bf16 = dataflow.constant dense<3.0> : tensor<100x50xbf16>
  %f32 = dataflow.constant dense<3.0> : tensor<100x50xf32>
  %0 = dataflow.matmul %a, %bf16 : tensor<1x100xbf16>, tensor<100x50xbf16>
  %1 = dataflow.matmul %b, %f32 : tensor<1x100xf32>, tensor<100x50xf32>
  return %0, %1 : tensor<1x50xbf16>, tensor<1x50xf32>
}

// Taps are segments; groups, and images of few channels, keep the kernels of f32.
// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x64x9x9xf16>, %y: tensor<1x3x9x9xf16>) -> (tensor<1x40x9x9xf16>, tensor<1x32x9x9xf16>, tensor<1x40x9x9xf16>) {
  // CHECK: dataflow.half_conv %{{.*}} kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 2, columns = 40, segments = 9, length = 64, panel = 32> : (tensor<1x9x9x64xf16>, tensor<147456xi8>) -> tensor<1x9x9x40xf16>
  // CHECK: dataflow.conv
  // CHECK: dataflow.conv
  %w = dataflow.constant dense<3.0> : tensor<40x64x3x3xf16>
  %grouped = dataflow.constant dense<3.0> : tensor<32x32x3x3xf16>
  %first = dataflow.constant dense<3.0> : tensor<40x3x3x3xf16>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x9x9xf16>, tensor<40x64x3x3xf16> -> tensor<1x40x9x9xf16>
  %1 = dataflow.conv %x, %grouped strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64} : tensor<1x64x9x9xf16>, tensor<32x32x3x3xf16> -> tensor<1x32x9x9xf16>
  %2 = dataflow.conv %y, %first strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x3x9x9xf16>, tensor<40x3x3x3xf16> -> tensor<1x40x9x9xf16>
  return %0, %1, %2 : tensor<1x40x9x9xf16>, tensor<1x32x9x9xf16>, tensor<1x40x9x9xf16>
}
