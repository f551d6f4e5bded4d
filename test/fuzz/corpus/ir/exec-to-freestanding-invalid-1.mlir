// passes: exec-to-freestanding
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @kernel_member0(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %0 = llvm.getelementptr %env[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
  %2 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %2 : i32
}
exec.program @text parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    %e = exec.launch @kernel "lower" reads() writes(%x) on @run
  }
}
