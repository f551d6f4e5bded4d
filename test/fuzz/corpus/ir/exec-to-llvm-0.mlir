// passes: exec-to-llvm compiler=me cpu-features=x86-64-v3
llvm.func @scale(!llvm.ptr, !llvm.ptr) -> i32
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
