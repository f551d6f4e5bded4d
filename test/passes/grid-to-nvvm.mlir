// Grids become kernels of the NVVM dialect by upstream's patterns, and call no library.

// RUN: sluice-opt %s --pass-pipeline='builtin.module(dataflow-emit-kernels{form=grids},gpu.module(gpu.func(kernel-expand-math,kernel-simplify,convert-scf-to-cf),grid-to-nvvm,reconcile-unrealized-casts))' | FileCheck %s --implicit-check-not=gpu.thread --implicit-check-not=__nv_

// Shared memory is a global of its own address space.
// CHECK: llvm.mlir.global internal @rows_grid0_shared0() {addr_space = 3 : i32, alignment = 32 : i64} : !llvm.array<{{[0-9]+}} x i8>

// Known sizes give the kernel's attributes and the ranges of its thread and block numbers.
// CHECK-LABEL: llvm.func @reduction_grid0(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// CHECK-DAG: nvvm.read.ptx.sreg.tid.x range <i32, 0, 256>
// CHECK-DAG: nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 8>
// CHECK-COUNT-5: nvvm.shfl.sync bfly
func.func @reduction(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<64x1024xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A block's sums meet in shared memory.
// CHECK-LABEL: llvm.func @rows_grid0
// CHECK: nvvm.barrier
func.func @rows(%x: tensor<2x32768xf32>) -> tensor<2xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<2x32768xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Roots have an instruction; sines are arithmetic in f64.
// CHECK-LABEL: llvm.func @math_grid0
// CHECK-NOT: llvm.intr.sin
// CHECK: llvm.intr.sqrt({{.*}}) : (vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.intr.fma({{.*}}) : (vector<4xf64>, vector<4xf64>, vector<4xf64>) -> vector<4xf64>
func.func @math(%x: tensor<64xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.fused (%a0 = %x : tensor<64xf32>) -> (tensor<64xf32>) {
    %1 = dataflow.unary sqrt %a0 : tensor<64xf32>
    %2 = dataflow.unary sin %1 : tensor<64xf32>
    dataflow.yield %2 : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}
