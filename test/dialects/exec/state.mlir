// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --exec-to-llvm | FileCheck %s --check-prefix=TABLES

// A weight and what follows it: the store's first 64 bytes begin as the parameter file's from 256 on, the rest as zeros.
// CHECK-LABEL: exec.program @training parameters 320 state 128 initially 256
exec.program @training parameters 320 state 128 initially 256 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  // CHECK: exec.state "w" at 0 : tensor<16xf32>
  exec.state "w" at 0 : tensor<16xf32>
  // CHECK: exec.state "w.momentum" at 64 : tensor<4x4xf32>
  exec.state "w.momentum" at 64 : tensor<4x4xf32>
  exec.step {
    %w = exec.home state 0 bytes 64 tensor "w" resident
    // CHECK: exec.home state 0 bytes 64 tensor "w.new" replaces "w"
    %w_new = exec.home state 0 bytes 64 tensor "w.new" replaces "w"
    %e = exec.launch @update "w.update" reads(%w) writes(%w_new) on @run
  }
}
llvm.func @update(!llvm.ptr, !llvm.ptr) -> i32

// The model's table: each state's shape and offset, the sizes, and where in the file the store begins.
// TABLES: @sluice.states.shapes(dense<[16, 4, 4]>
// TABLES: @sluice.state_offsets(dense<[0, 64]>
// TABLES: llvm.mlir.constant(320 : i64)
// TABLES: llvm.mlir.constant(128 : i64)
// TABLES: %[[OFFSETS:.*]] = llvm.mlir.addressof @sluice.state_offsets
// TABLES-NEXT: %[[INITIAL:.*]] = llvm.mlir.constant(256 : i64)
// TABLES: llvm.insertvalue %[[OFFSETS]]
// TABLES-NEXT: llvm.insertvalue %[[INITIAL]]
