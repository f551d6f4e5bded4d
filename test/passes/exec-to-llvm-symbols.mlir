// RUN: sluice-opt %s --exec-to-llvm | FileCheck %s
// RUN: sluice-opt %s --exec-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// The symbols have a table, and the extents of inputs and outputs, one after the other, a function.
// LLVM: @sluice.symbols = {{.*}}i64 2, i64 512, i64 2, i32 0, i32 1
// LLVM: @sluice.model = {{.*}}i32 1, ptr @sluice.symbols, ptr @sluice.extents, ptr null, i32 0, ptr null, ptr null, i64 0, i64 0, i32 0, i32 0, ptr null }

// CHECK-LABEL: llvm.func internal @sluice.extents
// CHECK: %[[TWO:.*]] = llvm.mlir.constant(2 : i64)
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %arg1[0]
// CHECK: llvm.store %[[TWO]], %[[FIRST]]
// CHECK: %[[LENGTH:.*]] = llvm.load
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %arg1[1]
// CHECK: llvm.store %[[LENGTH]], %[[SECOND]]
// CHECK: %[[LESS:.*]] = llvm.add %[[LENGTH]], %{{.*}}
// CHECK: %[[THIRD:.*]] = llvm.getelementptr %arg1[2]
// CHECK: llvm.store %[[LESS]], %[[THIRD]]
#symbols = #dataflow.symbols<"sequence" = 2 to 512 by 2>
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @m parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<2x512xf32, #dataflow.extents<()[s0] -> (2, s0), #symbols>>
  exec.output "y" : tensor<511xf32, #dataflow.extents<()[s0] -> (s0 - 1), #symbols>>
  exec.step {
    %x = exec.home input 0 bytes 4096 tensor "x"
    %y = exec.home output 0 bytes 2044 tensor "y"
    %e = exec.launch @kernel "op" reads(%x) writes(%y) on @run
  }
}
