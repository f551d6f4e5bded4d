// RUN: sluice-opt %s --exec-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s

// Each bucket has its bounds, arenas, planned bytes, commands and functions, in the order of the steps; the model's own
// are those of the step without bounds.
// CHECK-DAG: @sluice.bucket_numbers = {{.*}}constant [4 x i64] [i64 4, i64 0, i64 8, i64 64]
// CHECK-DAG: @sluice.buckets = {{.*}}i64 80, ptr @sluice.bucket_numbers, ptr getelementptr {{.*}}, i64 0, i64 0, i32 1, ptr null, ptr @sluice.bucket0.step, i64 0, i64 0 }{{.*}}i64 80, ptr getelementptr {{.*}}, ptr getelementptr {{.*}}, i64 0, i64 0, i32 1, ptr null, ptr @sluice.bucket1.step, i64 0, i64 0 }
// CHECK-DAG: @sluice.model = {{.*}}ptr null, ptr @sluice.step, {{.*}}ptr @sluice.extents, ptr null, i32 2, ptr @sluice.buckets, ptr null, i64 0, i64 0, i32 0, i32 0, ptr null }
#symbols = #dataflow.symbols<"length" = 1 to 16>
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @m parameters 0 state 0 {
  exec.memory @host arena 128
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.output "y" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
    %x = exec.home input 0 bytes 16 tensor "x"
    %y = exec.home output 0 bytes 16 tensor "y"
    %e = exec.launch @kernel "op" reads(%x) writes(%y) on @run
  }
  exec.step for [8] arenas [64] {
    %x = exec.home input 0 bytes 32 tensor "x"
    %y = exec.home output 0 bytes 32 tensor "y"
    %e = exec.launch @kernel "op" reads(%x) writes(%y) on @run
  }
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e = exec.launch @kernel "op" reads(%x) writes(%y) on @run
  }
}
