// passes: exec-to-llvm
#symbols = #dataflow.symbols<"sequence" = 2 to 512 by 2>
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @m parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<2x512xf32, #dataflow.extents<()[s0] -> (2, s0), #symbols>>
  exec.output "y" : tensor<511xf32, #dataflow.extents<()[s0] -> (s0 - 1), #symbols>>
  exec.step {
    %x = exec.home input 0 bytes 4096 tensor "x"
    %y = exec.home output 0 bytes 2044 tensor "y"
    %e = exec.launch @kernel "op" reads(%x) writes(%y) on @run
  }
}
