// options: 4
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    %w = exec.home parameter 0 in @disk bytes 64 tensor "w"
    %w_0 = exec.slot @host at 0 bytes 64 tensor "w"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %e = exec.read %w to %w_0 bytes 64 via @bus on @in
    %e0 = exec.launch @f "first" reads(%w_0) writes(%t) on @run
  }
}
func.func private @f()
