// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s
// A target whose vectors the panels were not made for has none of these instructions.
// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v3 --dataflow-emit-kernels | FileCheck %s --check-prefix=NARROW --implicit-check-not=bf16ps
// Nor has one whose vectors are these and whose instructions are not.
// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v4 --dataflow-emit-kernels | FileCheck %s --check-prefix=NARROW --implicit-check-not=bf16ps
// RUN: sluice-opt %s --dataflow-emit-kernels=form=grids | FileCheck %s --check-prefix=GRID --implicit-check-not=bf16ps

// NARROW: llvm.load
// GRID: gpu.func

// The operand is split into two numbers of bf16 on its way to the workspace, 16 elements at a time; each part of it
// meets each part of the weight in the same sums: two by two tiles.
// CHECK-LABEL: func.func private @f16_body0
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xf16>
// CHECK: arith.extf %[[X]] : vector<16xf16> to vector<16xf32>
// CHECK-COUNT-2: arith.trunci %{{.*}} : vector<16xi32> to vector<16xi16>
// CHECK-LABEL: func.func private @f16_body1
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero.internal"
// CHECK: scf.for
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// CHECK-NOT: tdpbf16ps
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
func.func @f16(%a: tensor<64x96xf16>, %p: tensor<24576xi8>) -> tensor<64x64xf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 2, columns = 64, segments = 1, length = 96, panel = 32> : (tensor<64x96xf16>, tensor<24576xi8>) -> tensor<64x64xf16>
  return %0 : tensor<64x64xf16>
}

// What is bf16 in memory is multiplied where it lies.
// CHECK-LABEL: func.func private @bf16_body0
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// CHECK-NOT: @bf16_body1
func.func @bf16(%a: tensor<64x96xbf16>, %p: tensor<12288xi8>) -> tensor<64x64xbf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_matmul %a, %p panels <dot = tiles, parts = 1, columns = 64, segments = 1, length = 96, panel = 32> : (tensor<64x96xbf16>, tensor<12288xi8>) -> tensor<64x64xbf16>
  return %0 : tensor<64x64xbf16>
}

// CHECK-LABEL: func.func private @pairs_body0
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
func.func @pairs(%a: tensor<4x96xbf16>, %p: tensor<12288xi8>) -> tensor<4x64xbf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_matmul %a, %p panels <dot = pairs, parts = 1, columns = 64, segments = 1, length = 96, panel = 32> : (tensor<4x96xbf16>, tensor<12288xi8>) -> tensor<4x64xbf16>
  return %0 : tensor<4x64xbf16>
}

// Padding is a border of zeros in the workspace.
// CHECK-LABEL: func.func private @conv_body0
// CHECK: arith.constant dense<0> : vector<16xi16>
// CHECK-LABEL: func.func private @conv_body1
// CHECK: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
func.func @conv(%x: tensor<1x9x20x32xf16>, %p: tensor<18432xi8>) -> tensor<1x9x20x16xf16> attributes {dataflow.kernel} {
  %0 = dataflow.half_conv %x, %p kernel [3, 3] strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] panels <dot = tiles, parts = 2, columns = 16, segments = 9, length = 32, panel = 16> : (tensor<1x9x20x32xf16>, tensor<18432xi8>) -> tensor<1x9x20x16xf16>
  return %0 : tensor<1x9x20x16xf16>
}
