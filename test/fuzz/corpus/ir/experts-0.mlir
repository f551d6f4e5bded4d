// options: 1
llvm.func @f(!llvm.ptr, !llvm.ptr) -> i32
exec.program @experts parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 16640
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.expert "moe.3" group 0 element 3 mask 2 at 8192 bytes 4096
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 4 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}
