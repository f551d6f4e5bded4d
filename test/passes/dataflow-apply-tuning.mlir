// RUN: sluice-opt %s --dataflow-apply-tuning=file=%S/Inputs/tuning.json | FileCheck %s
// RUN: sluice-opt %s --dataflow-apply-tuning='file=%S/Inputs/tuning.json device=cpu/2t origin=here' | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(dataflow-apply-tuning{file=%S/Inputs/tuning.json},func.func(dataflow-assign-layout{conv=auto}))' | FileCheck %s --check-prefix=LAYOUT
// RUN: sluice-opt %s --pass-pipeline='builtin.module(dataflow-apply-tuning{file=%S/Inputs/tuning.json},func.func(dataflow-assign-layout{conv=auto tolerance=1e-6}))' | FileCheck %s --check-prefix=EXACT
// RUN: sluice-opt %s --pass-pipeline='builtin.module(dataflow-apply-tuning{file=%S/Inputs/tuning.json},func.func(dataflow-assign-layout,dataflow-fuse))' | FileCheck %s --check-prefix=FUSED

// The panels have the columns of the tuned tile, and the tuning stays with the operator.
// CHECK-LABEL: func.func @matmul
// LAYOUT-LABEL: func.func @matmul
// FUSED-LABEL: func.func @matmul
func.func @matmul(%x: tensor<8x512xf32>) -> tensor<8x100xf32> {
  // CHECK: dataflow.matmul %{{.*}} {dataflow.tuning = #dataflow.tuning<kernel = "[[KEY:[0-9a-f]+]]", rows = 4, vectors = 3, chunk_ns = 9000>}
  // LAYOUT: dataflow.pack_matmul_rhs %{{.*}} {block = 48 : i64}
  // LAYOUT: dataflow.matmul %{{.*}} packed 100 {dataflow.tuning = #dataflow.tuning<kernel = "[[KEY:[0-9a-f]+]]", rows = 4, vectors = 3, chunk_ns = 9000>}
  // FUSED: dataflow.fused
  // FUSED: dataflow.matmul %{{.*}} packed 100 {dataflow.tuning = #dataflow.tuning<kernel = "[[KEY:[0-9a-f]+]]", rows = 4, vectors = 3, chunk_ns = 9000>}
  %w = dataflow.constant dense<1.0> : tensor<512x100xf32>
  %0 = dataflow.matmul %x, %w : tensor<8x512xf32>, tensor<512x100xf32>
  %1 = dataflow.unary tanh %0 : tensor<8x100xf32>
  return %1 : tensor<8x100xf32>
}

// A computed right-hand side is another kernel, which the file does not know.
// CHECK-LABEL: func.func @computed
func.func @computed(%x: tensor<8x512xf32>, %w: tensor<512x100xf32>) -> tensor<8x100xf32> {
  // CHECK-NOT: dataflow.tuning
  %0 = dataflow.matmul %x, %w : tensor<8x512xf32>, tensor<512x100xf32>
  return %0 : tensor<8x100xf32>
}

// A tuned algorithm comes before the estimates, which choose tiles of 4 x 4 here, but not before the tolerance.
// CHECK-LABEL: func.func @winograd
// LAYOUT-LABEL: func.func @winograd
// EXACT-LABEL: func.func @winograd
func.func @winograd(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  // CHECK: dataflow.conv {{.*}}dataflow.tuning = #dataflow.tuning<kernel = "{{[0-9a-f]+}}", algorithm = winograd2>
  // LAYOUT: dataflow.pack_winograd_weight winograd2
  // EXACT: dataflow.pack_conv_weight
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// LAYOUT-LABEL: func.func @direct
func.func @direct(%x: tensor<1x128x56x56xf32>) -> tensor<1x64x56x56xf32> {
  // LAYOUT: dataflow.pack_conv_weight %{{.*}} {block = 16 : i64, groups = 1 : i64}
  // LAYOUT: dataflow.conv {{.*}}dataflow.tuning = #dataflow.tuning<kernel = "{{[0-9a-f]+}}", algorithm = direct, vectors = 1>
  %w = dataflow.constant dense<1.0> : tensor<64x128x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x128x56x56xf32>, tensor<64x128x3x3xf32> -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// Signals become images, and keep their tuning.
// LAYOUT-LABEL: func.func @signal
func.func @signal(%x: tensor<1x16x50xf32>) -> tensor<1x32x48xf32> {
  // LAYOUT: dataflow.conv {{.*}}dataflow.tuning = #dataflow.tuning<kernel = "{{[0-9a-f]+}}", rows = 3>
  %w = dataflow.constant dense<1.0> : tensor<32x16x3xf32>
  %0 = dataflow.conv %x, %w strides [1] pads [0, 0] dilations [1] : tensor<1x16x50xf32>, tensor<32x16x3xf32> -> tensor<1x32x48xf32>
  return %0 : tensor<1x32x48xf32>
}

// Integers' kernels have no tiles to choose.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<8x512xi32>, %w: tensor<512x100xi32>) -> tensor<8x100xi32> {
  // CHECK-NOT: dataflow.tuning
  %0 = dataflow.matmul %x, %w : tensor<8x512xi32>, tensor<512x100xi32>
  return %0 : tensor<8x100xi32>
}
