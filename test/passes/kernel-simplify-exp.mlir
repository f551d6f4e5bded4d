// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=wasm32+simd128},func.func(kernel-simplify))' | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v3},func.func(kernel-simplify))' | FileCheck %s --check-prefix=FUSED
// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(kernel-simplify))' | FileCheck %s --check-prefix=FUSED

// Without fused multiply-adds, n is read from the bits of a sum, and no conversion is needed.
// CHECK-LABEL: func.func @exponential
// CHECK-NOT: math.
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<4xf32>
// CHECK: %[[ROUNDED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[ROUNDED]] : vector<4xf32> to vector<4xi32>
// CHECK: arith.shli %[[BITS]]
// CHECK-NOT: math.
// CHECK-NOT: arith.fptosi
// CHECK: return

// FUSED-LABEL: func.func @exponential
// FUSED: math.fma
// FUSED: arith.fptosi
func.func @exponential(%x: vector<4xf32>) -> vector<4xf32> {
  %0 = math.exp %x : vector<4xf32>
  return %0 : vector<4xf32>
}
