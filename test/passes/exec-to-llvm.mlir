// RUN: sluice-opt %s --exec-to-llvm="compiler=me cpu-features=x86-64-v3" | FileCheck %s
// RUN: sluice-opt %s --exec-to-llvm | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// Slots are four words: memory and segment, index, offset, bytes. A launch's are
// its reads then its writes; equal sequences are stored once.

// CHECK: llvm.func @scale(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @scale(!llvm.ptr, !llvm.ptr) -> i32

// Memory 1, arena, [256, 320); input 0 of the host (segment 2).
// CHECK: llvm.mlir.global internal unnamed_addr constant @sluice.slots(dense<[1, 0, 256, 64, 8589934592, 0, 0, 64,
// CHECK: @sluice.waits(dense<[0, 1]> : tensor<2xi32>)
// CHECK: llvm.func internal @sluice.init.0
// CHECK: llvm.func internal @sluice.step.0
// CHECK: %[[API:.*]] = llvm.getelementptr %arg0[8]
// CHECK: llvm.load %[[API]]
// CHECK: llvm.call %{{.*}}(%arg1, {{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, i32, !llvm.ptr, !llvm.ptr, i64, i32, !llvm.ptr, i32) -> i32
// CHECK: llvm.icmp "ne"
// CHECK: llvm.mlir.addressof @scale
// CHECK: llvm.func internal @sluice.step(
// CHECK: llvm.mlir.global internal unnamed_addr constant @sluice.model()
// CHECK: llvm.func @sluice_model_get() -> !llvm.ptr
// CHECK: @sluice.strings("{{.*}}scale_0\00{{.*}}m\00me\00x86-64-v3\00
// CHECK-NOT: exec.

// LLVM: @sluice.memories = internal unnamed_addr constant {{.*}}i64 0, i64 9223372036854775807, i32 0 {{.*}}i64 512, i64 4096, i32 0
// LLVM: @sluice.links = {{.*}}double 1.200000e+10, double 2.000000e+10, i64 10000, i32 1
// No states: none, and no first contents; one rank, no symbols.
// LLVM: @sluice.model = {{.*}}ptr @sluice.init, ptr @sluice.step, i32 0, {{.*}}, i64 -1, i32 1, ptr null, i32 0, ptr null, ptr null, ptr null, i32 0, ptr null, ptr null, i64 0, i64 0, i32 0, i32 0, ptr null }
exec.program @m parameters 256 state 0 {
  exec.memory @host
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000 throttle
  exec.stream @run compute of @accel0.device
  exec.stream @in in of @accel0.device
  exec.stream @out out of @accel0.device
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.init {
    %w = exec.home parameter 0 bytes 256 tensor "w"
    %w_0 = exec.slot @accel0 at 0 bytes 256 tensor "w"
    %e = exec.swap_in %w to %w_0 bytes 256 via @bus on @in
  }
  exec.step {
    %w = exec.slot @accel0 at 0 bytes 256 tensor "w" resident
    %x = exec.home input 0 bytes 64 tensor "x"
    %y = exec.home output 0 bytes 64 tensor "y"
    %x_0 = exec.slot @accel0 at 256 bytes 64 tensor "x"
    %y_0 = exec.slot @accel0 at 320 bytes 64 tensor "y"
    %e0 = exec.swap_in %x to %x_0 bytes 64 via @bus on @in
    %e1 = exec.launch @scale "scale_0" reads(%x_0, %w) writes(%y_0) on @run wait(%e0)
    %e2 = exec.swap_out %y_0 to %y bytes 64 via @bus on @out wait(%e1)
  }
}
