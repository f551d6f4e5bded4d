// RUN: sluice-opt %s --exec-to-llvm -verify-diagnostics -split-input-file

exec.program @missing parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    // expected-error @+1 {{launches 'emitted', which is not an llvm.func of the module, lower the kernels first}}
    %e = exec.launch @emitted "op" reads() writes(%x) on @run
  }
}
func.func private @emitted()

// -----

llvm.func @one(!llvm.ptr) -> i32
exec.program @other_type parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    // expected-error @+1 {{launches 'one', whose type must be '!llvm.func<i32 (ptr, ptr)>'}}
    %e = exec.launch @one "op" reads() writes(%x) on @run
  }
}

// -----

exec.program @first parameters 0 state 0 {
  exec.memory @host
  exec.step {
  }
}
// expected-error @+1 {{is the second program of the module, and a compiled model must have one}}
exec.program @second parameters 0 state 0 {
  exec.memory @host
  exec.step {
  }
}
