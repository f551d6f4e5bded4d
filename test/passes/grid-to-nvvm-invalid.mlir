// RUN: not sluice-opt %s --pass-pipeline='builtin.module(gpu.module(grid-to-nvvm))' 2>&1 | FileCheck %s
// CHECK: error: failed to legalize operation 'gpu.subgroup_reduce'
gpu.module @device {
  gpu.func @grid(%x: f32, %out: !llvm.ptr) kernel {
    %0 = gpu.subgroup_reduce add %x : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr
    gpu.return
  }
}
