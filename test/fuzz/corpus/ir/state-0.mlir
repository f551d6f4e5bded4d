// options: 4
exec.program @training parameters 320 state 128 initially 256 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.state "w" at 0 : tensor<16xf32>
  exec.state "w.momentum" at 64 : tensor<4x4xf32>
  exec.step {
    %w = exec.home state 0 bytes 64 tensor "w" resident
    %w_new = exec.home state 0 bytes 64 tensor "w.new" replaces "w"
    %e = exec.launch @update "w.update" reads(%w) writes(%w_new) on @run
  }
}
llvm.func @update(!llvm.ptr, !llvm.ptr) -> i32
