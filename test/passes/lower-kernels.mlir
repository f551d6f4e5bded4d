// RUN: sluice-opt %s --lower-kernels | FileCheck %s
// RUN: sluice-opt %s --pass-pipeline='builtin.module(func.func(kernel-simplify),kernel-call-libm)' | FileCheck %s --check-prefix=MATH

// A function that another one names by its address, before either is LLVM's; private
// functions become internal.
// CHECK: llvm.func internal @chunk(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64)
func.func private @chunk(%args: !llvm.ptr, %begin: i64, %end: i64) {
  return
}
// CHECK: llvm.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK: %[[CHUNK:.*]] = llvm.mlir.addressof @chunk : !llvm.ptr
// CHECK: llvm.store %[[CHUNK]], %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK-NOT: unrealized_conversion_cast
func.func @kernel(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %f = func.constant @chunk : (!llvm.ptr, i64, i64) -> ()
  %p = builtin.unrealized_conversion_cast %f : (!llvm.ptr, i64, i64) -> () to !llvm.ptr
  llvm.store %p, %args : !llvm.ptr, !llvm.ptr
  %ok = arith.constant 0 : i32
  return %ok : i32
}

// An exponential stays a vector's, as a polynomial; an inverse hyperbolic sine is libm's.
// CHECK: llvm.func @math
// CHECK: llvm.intr.fma({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: llvm.call @asinhf
// MATH-LABEL: func.func @math
// MATH-NOT: math.exp
// MATH: math.fma {{.*}} : vector<16xf32>
// MATH: call @asinhf
func.func @math(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, f32) {
  %e = math.exp %x : vector<16xf32>
  %s = math.asinh %y : f32
  return %e, %s : vector<16xf32>, f32
}
