// RUN: sluice-opt %s --dataflow-assign-layout='dot=quads' | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout='dot=plain lanes=4 registers=16' | FileCheck %s --check-prefix=NARROW
// RUN: sluice-opt %s --dataflow-assign-layout='dot=none' | FileCheck %s --check-prefix=NONE
// RUN: sluice-opt %s --dataflow-assign-layout='dot=quads rounded-bits=4' | FileCheck %s --check-prefix=BYTES

// GPUs read the weight as it is.
// NONE-NOT: dataflow.pack_blocks
// NONE: dataflow.block_matmul

// A panel is two vectors. 320 columns have 64 blocks of 16 bytes and a scale of 4 bytes each.
// CHECK-LABEL: func.func @constant
// NARROW-LABEL: func.func @constant
func.func @constant(%a: tensor<2x5x2048xf32>) -> tensor<2x5x300xf32> {
  // CHECK: dataflow.pack_blocks %{{.*}} panels <bits = 4, block = 32, columns = 300, depth = 2048, panel = 32, scale = f32, zeros = none> : (tensor<300x64x16xui8>, tensor<300x64xf32>) -> tensor<409600xi8>
  // CHECK: dataflow.packed_block_matmul %{{.*}} panels <bits = 4, block = 32, columns = 300, depth = 2048, panel = 32, scale = f32, zeros = none> : (tensor<2x5x2048xf32>, tensor<409600xi8>) -> tensor<2x5x300xf32>
  // NARROW: dataflow.packed_block_matmul %{{.*}} panel = 8
  %w = dataflow.constant dense<7> : tensor<300x64x16xui8>
  %s = dataflow.constant dense<0.5> : tensor<300x64xf32>
  %0 = dataflow.block_matmul %a, %w scales %s bits 4 block 32 : (tensor<2x5x2048xf32>, tensor<300x64x16xui8>, tensor<300x64xf32>) -> tensor<2x5x300xf32>
  return %0 : tensor<2x5x300xf32>
}

// CHECK-LABEL: func.func @kinds
func.func @kinds(%a: tensor<1x64xf16>, %b: tensor<5x64xf16>) -> (tensor<1x20xf16>, tensor<5x20xf16>) {
  // CHECK: dataflow.packed_block_matmul %{{.*}} panels <bits = 8, block = 16, columns = 20, depth = 64, panel = 32, scale = f16, zeros = bytes>
  // CHECK: dataflow.packed_block_matmul %{{.*}} panels <bits = 2, block = 64, columns = 20, depth = 64, panel = 32, scale = bf16, zeros = floats>
  %w = dataflow.constant dense<7> : tensor<20x4x16xui8>
  %s = dataflow.constant dense<0.5> : tensor<20x4xf16>
  %z = dataflow.constant dense<120> : tensor<20x4xui8>
  %v = dataflow.constant dense<7> : tensor<20x1x16xui8>
  %t = dataflow.constant dense<0.5> : tensor<20x1xbf16>
  %y = dataflow.constant dense<1.5> : tensor<20x1xf32>
  %0 = dataflow.block_matmul %a, %w scales %s less %z bits 8 block 16 : (tensor<1x64xf16>, tensor<20x4x16xui8>, tensor<20x4xf16>, tensor<20x4xui8>) -> tensor<1x20xf16>
  %1 = dataflow.block_matmul %b, %v scales %t less %y bits 2 block 64 : (tensor<5x64xf16>, tensor<20x1x16xui8>, tensor<20x1xbf16>, tensor<20x1xf32>) -> tensor<5x20xf16>
  return %0, %1 : tensor<1x20xf16>, tensor<5x20xf16>
}

// What a step gives is not packed.
// CHECK-LABEL: func.func @given
func.func @given(%a: tensor<3x64xf32>, %w: tensor<20x4x16xui8>, %s: tensor<20x4xf32>) -> tensor<3x20xf32> {
  // CHECK: dataflow.block_matmul
  %0 = dataflow.block_matmul %a, %w scales %s bits 8 block 16 : (tensor<3x64xf32>, tensor<20x4x16xui8>, tensor<20x4xf32>) -> tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}

// Two weights multiply the same rounded rows, as bytes; a product of f16 gets its type back. Elements of 8 bits, rows
// that are rounded in other blocks, and columns narrower than a vector are multiplied as floats.
// BYTES-LABEL: func.func @rounded
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: dataflow.quantize_blocks
// CHECK-COUNT-5: dataflow.packed_block_matmul
func.func @rounded(%a: tensor<3x64xf32>, %b: tensor<3x64xf16>) -> (tensor<3x20xf32>, tensor<3x20xf32>, tensor<3x20xf16>, tensor<3x20xf32>, tensor<3x4xf32>) {
  %w = dataflow.constant dense<7> : tensor<20x2x16xui8>
  %s = dataflow.constant dense<0.5> : tensor<20x2xf32>
  %v = dataflow.constant dense<9> : tensor<20x2x16xui8>
  %x = dataflow.constant dense<9> : tensor<20x2x32xui8>
  %n = dataflow.constant dense<9> : tensor<4x2x16xui8>
  %t = dataflow.constant dense<0.5> : tensor<4x2xf32>
  // BYTES: %[[FLOATS:.*]] = dataflow.round_blocks
  // BYTES: %[[ROWS:.*]] = dataflow.quantize_blocks %{{.*}} bits 4 block 32 : (tensor<3x64xf32>) -> tensor<3x80xi8>
  // BYTES: dataflow.packed_block_matmul %[[ROWS]], {{.*}} : (tensor<3x80xi8>, tensor<{{.*}}xi8>) -> tensor<3x20xf32>
  // BYTES: dataflow.packed_block_matmul %[[ROWS]], {{.*}} : (tensor<3x80xi8>, tensor<{{.*}}xi8>) -> tensor<3x20xf32>
  %0 = dataflow.round_blocks %a block 32 : tensor<3x64xf32>
  %1 = dataflow.block_matmul %0, %w scales %s bits 4 block 32 : (tensor<3x64xf32>, tensor<20x2x16xui8>, tensor<20x2xf32>) -> tensor<3x20xf32>
  %2 = dataflow.block_matmul %0, %v scales %s bits 4 block 32 : (tensor<3x64xf32>, tensor<20x2x16xui8>, tensor<20x2xf32>) -> tensor<3x20xf32>
  // BYTES: %[[HALVES:.*]] = dataflow.quantize_blocks %{{.*}} : (tensor<3x64xf16>) -> tensor<3x80xi8>
  // BYTES: %[[WIDE:.*]] = dataflow.packed_block_matmul %[[HALVES]], {{.*}} -> tensor<3x20xf32>
  // BYTES: dataflow.cast %[[WIDE]] : tensor<3x20xf32> -> tensor<3x20xf16>
  %3 = dataflow.round_blocks %b block 32 : tensor<3x64xf16>
  %4 = dataflow.block_matmul %3, %w scales %s bits 4 block 32 : (tensor<3x64xf16>, tensor<20x2x16xui8>, tensor<20x2xf32>) -> tensor<3x20xf16>
  // BYTES: dataflow.packed_block_matmul %[[FLOATS]]
  %5 = dataflow.block_matmul %0, %x scales %s bits 8 block 32 : (tensor<3x64xf32>, tensor<20x2x32xui8>, tensor<20x2xf32>) -> tensor<3x20xf32>
  // BYTES: dataflow.packed_block_matmul %[[FLOATS]]
  %6 = dataflow.block_matmul %0, %n scales %t bits 4 block 32 : (tensor<3x64xf32>, tensor<4x2x16xui8>, tensor<4x2xf32>) -> tensor<3x4xf32>
  return %1, %2, %4, %5, %6 : tensor<3x20xf32>, tensor<3x20xf32>, tensor<3x20xf16>, tensor<3x20xf32>, tensor<3x4xf32>
}
