// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s
// Panels for other vectors than the target's are read one element at a time.
// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v3 --dataflow-emit-kernels | FileCheck %s --check-prefix=PLAIN --implicit-check-not='vector<16xi32>'
// RUN: sluice-opt %s --dataflow-emit-kernels=form=grids | FileCheck %s --check-prefix=GRID

// PLAIN: arith.shrui %{{.*}} : i32
// GRID: gpu.func

// One row: two vectors of words have eight rows of the weight. Elements are masked where they are: an exponent makes
// the lowest bit of the field worth one. The sixth ends beyond the mantissa and is shifted.
// CHECK-LABEL: func.func private @token_body0
// CHECK: %[[OFFSET:.*]] = arith.constant dense<0x4B000008> : vector<16xf32>
// CHECK: %[[WORDS:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi32>
// CHECK: %[[MASK:.*]] = arith.constant dense<15> : vector<16xi32>
// CHECK: %[[FIELD:.*]] = arith.andi %[[WORDS]], %[[MASK]] : vector<16xi32>
// CHECK: %[[EXPONENT:.*]] = arith.constant dense<1258291200> : vector<16xi32>
// CHECK: %[[BITS:.*]] = arith.ori %[[FIELD]], %[[EXPONENT]] : vector<16xi32>
// CHECK: %[[FLOAT:.*]] = arith.bitcast %[[BITS]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[WEIGHT:.*]] = arith.subf %[[FLOAT]], %{{.*}} : vector<16xf32>
// CHECK: llvm.intr.fmuladd(%{{.*}}, %[[WEIGHT]], %{{.*}})
// CHECK: arith.shrui %[[WORDS]]
func.func @token(%a: tensor<1x64xf32>, %p: tensor<2560xi8>) -> tensor<1x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 64, depth = 64, panel = 32, scale = f32, zeros = none> : (tensor<1x64xf32>, tensor<2560xi8>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// Many rows: a panel is unpacked with its scales, then tiles multiply it.
// CHECK-LABEL: func.func private @prompt_body0
// CHECK: llvm.alloca
// CHECK: arith.andi %{{.*}} : vector<16xi32>
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
// CHECK: llvm.store
// CHECK: llvm.intr.fmuladd
func.func @prompt(%a: tensor<40x64xf32>, %p: tensor<2560xi8>) -> tensor<40x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 64, depth = 64, panel = 32, scale = f32, zeros = none> : (tensor<40x64xf32>, tensor<2560xi8>) -> tensor<40x64xf32>
  return %0 : tensor<40x64xf32>
}

// A weight that is not packed.
// GRID-LABEL: gpu.func @given
func.func @given(%a: tensor<3x64xf32>, %w: tensor<20x4x16xui8>, %s: tensor<20x4xf32>) -> tensor<3x20xf32> attributes {dataflow.kernel} {
  %0 = dataflow.block_matmul %a, %w scales %s bits 8 block 16 : (tensor<3x64xf32>, tensor<20x4x16xui8>, tensor<20x4xf32>) -> tensor<3x20xf32>
  return %0 : tensor<3x20xf32>
}
