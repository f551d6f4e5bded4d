// RUN: sluice-opt %s --exec-attach-target='target=x86-64-v3,cuda:sm_90,cuda:emulated' --dataflow-emit-kernels=form=grids --lower-grids | FileCheck %s

// The entry launches a descriptor, which has the grid's size, its PTX and its host code.
// CHECK: func.func @chain(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK: llvm.mlir.addressof @chain_grid0
// CHECK-NOT: gpu.
// CHECK: llvm.mlir.global internal constant @sluice.ptx.sm_90("{{.*}}.target sm_90
// CHECK-SAME: .visible .entry chain_grid0(
// A row of 1024 elements, by threads that read and write in turns: no local memory, so no spills.
// CHECK-NOT: .local
// CHECK: llvm.mlir.global {{.*}}@chain_grid0()
// CHECK: func.constant @chain_grid0_thread
// CHECK: func.func @chain_grid0_thread(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
func.func @chain(%x: tensor<64x1024xf32>, %y: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.binary add %x, %y : tensor<64x1024xf32>, tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}
