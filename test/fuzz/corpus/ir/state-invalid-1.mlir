// options: 2
exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  exec.state "w" at 0 : tensor<16xf32> cuts [0, 2, 1] blocks [3, 3]
  exec.step {
  }
}
