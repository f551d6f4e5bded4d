// options: 7
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    %w_0 = exec.slot @accel0 at 0 bytes 64 tensor "w"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    %e1 = exec.launch @k "b" reads(%x) writes(%y) on @run
    %e2 = exec.swap_in %w to %w_0 bytes 64 via @bus on @in wait(%e0)
  }
}
func.func private @k()
