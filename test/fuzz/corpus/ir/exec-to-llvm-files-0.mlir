// passes: exec-to-llvm
llvm.func @f(!llvm.ptr, !llvm.ptr) -> i32
exec.program @streams parameters 512 state 0 {
  exec.memory @host arena 768
  exec.memory @disk file arena 64 capacity 4096
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.output "y" : tensor<16xf32>
  exec.init {
    %v = exec.home parameter 0 in @disk bytes 256 tensor "v"
    %v_0 = exec.slot @host at 0 bytes 256 tensor "v"
    %e = exec.read %v to %v_0 bytes 256 via @bus on @in
  }
  exec.step {
    %v = exec.slot @host at 0 bytes 256 tensor "v" resident
    %w = exec.home parameter 256 in @disk bytes 256 tensor "w"
    %w_0 = exec.slot @host at 256 bytes 256 tensor "w"
    %t = exec.slot @host at 512 bytes 64 tensor "t"
    %t_saved = exec.slot @disk at 0 bytes 64 tensor "t"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.read %w to %w_0 bytes 256 via @bus on @in
    %e1 = exec.launch @f "first" reads(%v, %w_0) writes(%t) on @run wait(%e0)
    %e2 = exec.write %t to %t_saved bytes 64 via @bus on @out wait(%e1)
    %e3 = exec.launch @f "second" reads(%t) writes(%y) on @run
  }
}
