// RUN: sluice-opt %s --exec-to-llvm | FileCheck %s
// RUN: sluice-opt %s --exec-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// A symbol that is the length of a state is of that state's number, and the function `advance` has its next value.
// LLVM: @sluice.symbols = {{.*}}i64 0, i64 12, i64 1, i32 -2, i32 1 }{{.*}}i64 1, i64 4, i64 1, i32 0, i32 0 }
// LLVM: @sluice.model = {{.*}}ptr @sluice.extents, ptr null, i32 0, ptr null, ptr @sluice.advance, i64 0, i64 0, i32 0, i32 0, ptr null }

// CHECK-LABEL: llvm.func internal @sluice.advance
// CHECK: %[[PAST:.*]] = llvm.load
// CHECK: %[[NEW:.*]] = llvm.load
// CHECK: %[[SUM:.*]] = llvm.add %[[PAST]], %[[NEW]]
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %arg1[0]
// CHECK: llvm.store %[[SUM]], %[[FIRST]]
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %arg1[1]
// CHECK: llvm.store %[[NEW]], %[[SECOND]]
#symbols = #dataflow.symbols<"past" = 0 to 12, "new" = 1 to 4>
exec.program @m parameters 0 state 128 symbols #symbols {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<4xf32, #dataflow.extents<()[s0, s1] -> (s1), #symbols>>
  exec.state "count" at 64 : tensor<1xf32>
  exec.state "past" at 0 : tensor<16xf32> length #dataflow.extents<()[s0, s1] -> (s0, s0 + s1), #symbols>
  exec.step {
    %x = exec.home input 0 bytes 16 tensor "x"
    %old = exec.home state 0 bytes 64 tensor "past" resident
    %new = exec.home state 0 bytes 64 tensor "next" replaces "past"
    %e = exec.launch @kernel "op" reads(%old, %x) writes(%new) on @run
  }
}
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
