// passes: exec-to-llvm
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
