// passes: exec-to-llvm
llvm.func @one(!llvm.ptr) -> i32
exec.program @other_type parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    %e = exec.launch @one "op" reads() writes(%x) on @run
  }
}
