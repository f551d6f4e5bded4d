// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v2},func.func(kernel-expand-fma))' | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v3},func.func(kernel-expand-fma))' | FileCheck %s --check-prefix=HAS
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v2},func.func(kernel-expand-fma),canonicalize)' | FileCheck %s --check-prefix=EXACT

// The target of x86-64-v3 has the instruction.
// HAS-COUNT-2: math.fma

// CHECK-LABEL: func.func @vectors
// CHECK: %[[PRODUCT:.*]] = arith.mulf %arg0, %arg1 : vector<8xf32>
// CHECK: arith.addf %[[PRODUCT]], %arg2 : vector<8xf32>
// CHECK-NOT: math.fma
func.func @vectors(%x: vector<8xf32>, %y: vector<8xf32>, %z: vector<8xf32>) -> vector<8xf32> {
  %0 = math.fma %x, %y, %z : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @wide
// CHECK: arith.constant 0x41A0000002000000 : f64
func.func @wide(%x: f64, %y: f64, %z: f64) -> f64 {
  %0 = math.fma %x, %y, %z : f64
  return %0 : f64
}

// (1 + 2^-30)^2 - (1 + 2^-29) is 2^-60. A product that is rounded to 53 bits loses it.
// EXACT-LABEL: func.func @cancelling
// EXACT: %[[EXACT:.*]] = arith.constant 8.6736173798840355E-19 : f64
// EXACT: return %[[EXACT]]
func.func @cancelling() -> f64 {
  %x = arith.constant 1.000000000931322574615478515625 : f64
  %z = arith.constant -1.00000000186264514923095703125 : f64
  %0 = math.fma %x, %x, %z : f64
  return %0 : f64
}
