// RUN: sluice-opt %s --exec-to-freestanding -verify-diagnostics -split-input-file

llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @accelerated parameters 0 state 0 {
  exec.memory @host
  exec.memory @accel0 arena 64
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  exec.stream @run compute of @accel0.device
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{operator 'node' runs on device 'accel0', which needs the runtime, compile for a machine with a CPU only, such as --machine host}}
    %e = exec.launch @kernel "node" reads() writes(%x) on @run
  }
}

// -----

llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @spilled parameters 64 state 0 {
  exec.memory @host arena 64
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @reads joins @host, @disk rate 1.0e9 duplex 1.0e9 latency 0
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.step {
    %w = exec.home parameter 0 in @disk bytes 64 tensor "w"
    %w_0 = exec.slot @host at 0 bytes 64 tensor "w"
    // expected-error @+1 {{tensor 'w' is copied between memories, which needs the runtime, leave out --memory and compile for a machine with a CPU only}}
    %e = exec.read %w to %w_0 bytes 64 via @reads on @in
  }
}

// -----

// A member of the kernel asks for text.
llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
llvm.func @kernel_member0(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %0 = llvm.getelementptr %env[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %1 = llvm.load %0 : !llvm.ptr -> !llvm.ptr
  %2 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %2 : i32
}
exec.program @text parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    // expected-error @+1 {{operator 'lower' works with text or images, which needs the runtime, leave the operator out of the model, or compile with --emit shared and without --runtime none}}
    %e = exec.launch @kernel "lower" reads() writes(%x) on @run
  }
}

// -----

exec.program @words parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{tensor 'x' holds text, which needs the runtime, compile with --emit shared and without --runtime none}}
  exec.input "x" : tensor<1x!dataflow.string>
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"n" = 1 to 8 by 1>
// expected-error @+1 {{extent 'n' has a range of sizes, and a program without the runtime needs one size, give this size by --dim}}
exec.program @ranged parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.input "x" : tensor<8xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step {
  }
}

// -----

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

llvm.func @kernel(%env: !llvm.ptr, %args: !llvm.ptr) -> i32 {
  %rows = llvm.mlir.constant(16 : i16) : i16
  %tile = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%rows, %rows) : (i16, i16) -> !llvm.x86_amx
  %0 = llvm.mlir.constant(0 : i32) : i32
  llvm.return %0 : i32
}
exec.program @tiles parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    // expected-error @+1 {{operator 'product' uses tile registers (AMX), which a program without the runtime cannot enable, option '--target', give cpu:x86-64-v4 or lower}}
    %e = exec.launch @kernel "product" reads() writes(%x) on @run
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

// -----

llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @memories parameters 0 state 0 {
  exec.memory @host
  exec.memory @m1 arena 64
  exec.device @cpu cpu in @m1 threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    // expected-error @+1 {{the program uses memory 'm1' in addition to 'host', and a program without the runtime can use one memory, compile for a machine with a CPU only}}
    %x = exec.slot @m1 at 0 bytes 64 tensor "x"
    %e = exec.launch @kernel "node" reads() writes(%x) on @run
  }
}

// -----

llvm.func @kernel(!llvm.ptr, !llvm.ptr) -> i32
exec.program @filled parameters 64 state 0 {
  exec.memory @host arena 64
  exec.memory @m1 arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.device @other cpu in @m1 threads 1 speed 1.0
  exec.link @bus joins @host, @m1 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @cpu
  exec.stream @in in of @other
  // expected-error @+1 {{the program fills the memory of a device before the first step, which needs the runtime, compile for a machine with a CPU only, such as --machine host}}
  exec.init {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %w_0 = exec.slot @m1 at 0 bytes 64 tensor "w"
    %e = exec.swap_in %w to %w_0 bytes 64 via @bus on @in
  }
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    %e = exec.launch @kernel "node" reads() writes(%x) on @run
  }
}
