// RUN: sluice-opt %s -split-input-file -verify-diagnostics

// C3: the first memory is a file.
exec.program @p parameters 512 state 64 {
  // expected-error @+1 {{C3: the first memory must be that of the host and not a file}}
  exec.memory @host file arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
  }
}

// -----

// C3: a device computes in a file.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  // expected-error @+1 {{C3: must not compute in a file}}
  exec.device @cpu cpu in @disk threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
  }
}

// -----

// C5: a state has its home in a file.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    // expected-error @+1 {{C5: only the home of a parameter may name a memory, and this memory must be a file}}
    %h = exec.home state 0 in @disk bytes 64 tensor "h" resident
  }
}

// -----

// C5: a home names a memory that is no file.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    // expected-error @+1 {{C5: only the home of a parameter may name a memory, and this memory must be a file}}
    %h = exec.home parameter 0 in @host bytes 64 tensor "h"
  }
}

// -----

// C2: a home names a memory that is not declared.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    // expected-error @+1 {{C2: memory 'tape' is not declared}}
    %h = exec.home parameter 0 in @tape bytes 64 tensor "h"
  }
}

// -----

// C5: a home ends behind the parameter file.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    // expected-error @+1 {{C5: bytes [500, 500 + 64) are not within the parameter file's 512}}
    %h = exec.home parameter 500 in @disk bytes 64 tensor "h"
  }
}

// -----

// C9: a read goes to a file.
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
    %w_0 = exec.slot @disk at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: link 'bus' does not join memories 'disk' and 'disk'}}
    %e = exec.read %w to %w_0 bytes 64 via @bus on @in
  }
}

// -----

// C9: a copy of another kind comes from a file.
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
    // expected-error @+1 {{C9: only exec.read may read from a file, only exec.write may write to a file, and the other end must not be a file}}
    %e = exec.swap_out %w to %w_0 bytes 64 via @bus on @in
  }
}

// -----

// C9: a read comes from memory.
exec.program @p parameters 512 state 64 {
  exec.memory @host arena 768
  exec.memory @disk file arena 256
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  exec.stream @in file_in of @cpu
  exec.stream @out file_out of @cpu
  exec.step {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %w_0 = exec.slot @disk at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: only exec.read may read from a file, only exec.write may write to a file, and the other end must not be a file}}
    %e = exec.read %w to %w_0 bytes 64 via @bus on @in
  }
}

// -----

// C9: a read is on the stream that writes.
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
    // expected-error @+1 {{C9: must be on a stream of kind file_in}}
    %e = exec.read %w to %w_0 bytes 64 via @bus on @out
  }
}

// -----

// C8: a launch reads a file.
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
    %t = exec.slot @host at 0 bytes 64 tensor "t"
    // expected-error @+1 {{C8: 'w' is not in memory 'host' of the stream's device}}
    %e = exec.launch @f "first" reads(%w) writes(%t) on @run
  }
}
func.func private @f()

// -----

// C7: a tensor is read before it is in the host's memory.
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
    // expected-error @+1 {{C7: reads 'w', whose write is not ordered before this command, wait for the event of the write}}
    %e0 = exec.launch @f "first" reads(%w_0) writes(%t) on @run
  }
}
func.func private @f()
