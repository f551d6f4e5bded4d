// RUN: sluice-opt %s --exec-attach-target='target=x86-64-v3,cuda:sm_90,cuda:emulated' --dataflow-emit-kernels=form=grids --lower-grids | FileCheck %s

#rows = #dataflow.extents<()[s0] -> (s0, 100), <"n" = 1 to 64>>

// An extent is a parameter of the PTX's entry, a number beside the tensors' addresses.
// CHECK: llvm.mlir.global internal constant @sluice.ptx.sm_90("{{.*}}.visible .entry chain_grid0(
// CHECK-SAME: .param .u64 .ptr .align 1 chain_grid0_param_1,
// CHECK-SAME: .param .u64 chain_grid0_param_2
// CHECK-NOT: .local
// The descriptor leaves the number of blocks, which is behind its size and its name, to the launch. It has 3 arguments.
// CHECK: llvm.mlir.global {{.*}}@chain_grid0()
// CHECK: %[[NONE:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[WORDS:.*]] = llvm.mlir.constant(3 : i32)
// CHECK: llvm.insertvalue %[[NONE]], %{{.*}}[2]
// CHECK: llvm.insertvalue %[[WORDS]], %{{.*}}[5]
// Its host code reads the extent as the number it is.
// CHECK: func.func @chain_grid0_thread(%{{.*}}: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr)
// CHECK: llvm.getelementptr %[[ARGS]][2]
// CHECK-NEXT: llvm.load %{{.*}} : !llvm.ptr -> i64
func.func @chain(%x: tensor<64x100xf32, #rows>) -> tensor<64x100xf32, #rows> attributes {dataflow.kernel} {
  %0 = dataflow.unary abs %x : tensor<64x100xf32, #rows>
  return %0 : tensor<64x100xf32, #rows>
}
