// options: 3
#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
    %x = exec.home input 0 bytes 64 tensor "x"
  }
  exec.step {
  }
}
