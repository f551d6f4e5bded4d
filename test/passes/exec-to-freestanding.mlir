// RUN: sluice-opt %s --exec-to-freestanding | FileCheck %s --implicit-check-not=exec.
// RUN: sluice-opt %s --exec-to-freestanding | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// The arena, then the states; the parameters are another object's.
// LLVM: @sluice.memory = internal global [224 x i8] zeroinitializer, align 64
// LLVM: @sluice_model_parameters = external hidden constant [320 x i8], align 64

// The states begin with the last 64 bytes of the parameters; 32 more are zero.
// CHECK: llvm.func @sluice_model_init()
// CHECK: llvm.getelementptr
// CHECK: "llvm.intr.memcpy"
// CHECK: "llvm.intr.memset"

// One pass over the inputs: the buffer, the values, the indices.
// CHECK: llvm.func @sluice_model_run(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK: llvm.call @sluice.differs
// CHECK: llvm.call @sluice.leaves64

// One call for each launch. @never returns zero alone: its status is not tested.
// CHECK: llvm.func internal @sluice.step.0({{.*}}no_inline
// CHECK: llvm.call @scale
// CHECK: llvm.icmp "ne"
// CHECK: llvm.call @never
// CHECK-NOT: llvm.icmp
// CHECK: llvm.return

// Statuses: no error, no init, x, values of n, indices, y, and the operator that may fail.
// LLVM: @sluice.message_starts = internal unnamed_addr constant [10 x i32]
// LLVM: @sluice.messages = {{.*}}no error\00the model is not initialised, call its init function first\00input 'x' has no buffer, give the address of its 64 bytes\00input 'n' has no buffer{{.*}}\00input 'n' has a value other than the one for which the model was compiled, compile the model for this value\00input 'i' has no buffer{{.*}}a value of input 'i' is out of range, give values from -4 to 3{{.*}}output 'y' has no buffer{{.*}}operator 'scale_0' failed, check the values of the model's inputs\00the status is not one of the model's run function\00
llvm.func @scale(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @never(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}

exec.program @m parameters 320 state 96 initially 256 {
  exec.memory @host arena 96
  exec.device @cpu cpu in @host threads 4 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.input "n" : tensor<1xi64> {exec.fixed = array<i8: 3, 0, 0, 0, 0, 0, 0, 0>}
  exec.input "i" : tensor<2xi64> {exec.range = array<i64: -4, 3, 0>}
  exec.output "y" : tensor<16xf32>
  exec.state "h" at 0 : tensor<16xf32>
  exec.step {
    %w = exec.home parameter 64 bytes 64 tensor "w"
    %x = exec.home input 0 bytes 64 tensor "x"
    %h = exec.home state 0 bytes 64 tensor "h" resident
    %y = exec.home output 0 bytes 64 tensor "y"
    %t = exec.slot @host at 0 bytes 64 tensor "t"
    %e0 = exec.launch @scale "scale_0" reads(%x, %w, %h) writes(%t) on @run
    %e1 = exec.launch @never "copy_0" reads(%t) writes(%y) on @run
  }
}
