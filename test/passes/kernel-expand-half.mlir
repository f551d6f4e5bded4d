// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v2},func.func(kernel-expand-half))' | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=x86-64-v3},func.func(kernel-expand-half))' | FileCheck %s --check-prefix=HAS
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=aarch64},func.func(kernel-expand-half))' | FileCheck %s --check-prefix=HAS
// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(kernel-expand-half))' | FileCheck %s --check-prefix=HAS
// RUN: sluice-opt %s --pass-pipeline='builtin.module(exec-attach-target{target=wasm32+simd128},func.func(kernel-expand-half,canonicalize))' | FileCheck %s --check-prefix=FOLDED

// Targets with the instructions, and modules without a target.
// HAS-COUNT-2: arith.extf
// HAS-COUNT-3: arith.truncf
// HAS: return

// CHECK-LABEL: func.func @widen
// CHECK-SAME: %[[X:.*]]: vector<4xf16>
// CHECK: %[[HALF:.*]] = arith.bitcast %[[X]] : vector<4xf16> to vector<4xi16>
// CHECK: arith.extui %[[HALF]] : vector<4xi16> to vector<4xi32>
// CHECK-NOT: arith.extf
func.func @widen(%x: vector<4xf16>) -> vector<4xf32> {
  %0 = arith.extf %x : vector<4xf16> to vector<4xf32>
  return %0 : vector<4xf32>
}

// Conversions of other types stay.
// CHECK-LABEL: func.func @other
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @other(%x: bf16) -> f32 {
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}

// 1 + 2^-11 lies between two numbers, of which 1 is even; 65520 rounds to infinity, and -2^-25 to -0.
// CHECK-LABEL: func.func @round
// CHECK-NOT: arith.truncf
// FOLDED-LABEL: func.func @round
// FOLDED-DAG: %[[ONE:.*]] = arith.constant 1.000000e+00 : f16
// FOLDED-DAG: %[[INFINITY:.*]] = arith.constant 0x7C00 : f16
// FOLDED-DAG: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f16
// FOLDED: return %[[ONE]], %[[INFINITY]], %[[ZERO]] : f16, f16, f16
func.func @round() -> (f16, f16, f16) {
  %tie = arith.constant 1.00048828125 : f32
  %large = arith.constant 65520.0 : f32
  %small = arith.constant -2.98023223876953125e-08 : f32
  %0 = arith.truncf %tie : f32 to f16
  %1 = arith.truncf %large : f32 to f16
  %2 = arith.truncf %small : f32 to f16
  return %0, %1, %2 : f16, f16, f16
}
