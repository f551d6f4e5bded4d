// passes: exec-to-llvm
#symbols = #dataflow.symbols<"past" = 0 to 12, "new" = 1 to 4>
exec.program @m parameters 0 state 128 symbols #symbols {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<4xf32, #dataflow.extents<()[s0, s1] -> (s1), #symbols>>
  exec.state "count" at 64 : tensor<1xf32>
  exec.state "past" at 0 : tensor<16xf32> length #dataflow.extents<()[s0, s1] -> (s0, s0 + s1), #symbols>
  exec.step {
    %x = exec.home input 0 bytes 16 tensor "x"
    %old = exec.home state 0 bytes 64 tensor "past" resident
    %new = exec.home state 0 bytes 64 tensor "next" replaces "past"
    %e = exec.launch @kernel "op" reads(%old, %x) writes(%new) on @run
  }
}
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
