// passes: exec-to-freestanding
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
