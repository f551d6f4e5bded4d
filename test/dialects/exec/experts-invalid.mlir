// RUN: sluice-opt %s --split-input-file --verify-diagnostics

func.func private @f()
// expected-error@+1 {{C18: has experts without slots or slots without experts, give both or none}}
exec.program @none parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
// expected-error@+1 {{C18: has experts without slots or slots without experts, give both or none}}
exec.program @no_slots parameters 16384 state 0 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @no_file parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  // expected-error@+1 {{C18: is an expert of a program without a memory of kind file, declare a memory of kind file}}
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @twice parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  // expected-error@+1 {{C18: has a group or an element that is out of range or out of order, or an operator that an earlier expert names}}
  exec.expert "first" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @order parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 2 mask 2 at 0 bytes 4096
  // expected-error@+1 {{C18: has a group or an element that is out of range or out of order}}
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @block parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  // expected-error@+1 {{C18: bytes [8256, 8256 + 4100) must start at a multiple of 4096 and end within}}
  exec.expert "second" group 0 element 1 mask 2 at 8256 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @end parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  // expected-error@+1 {{C18: bytes [8192, 8192 + 8193) must start at a multiple of 4096 and end within the parameter file's 16384}}
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 8193
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
// expected-error@+1 {{C18: 2 slots of 8192 bytes do not fit into the host's memory in addition to the arena of 128}}
exec.program @room parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 16000
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
// expected-error@+1 {{C18: 0 slots are out of range, give 1 to 4294967295}}
exec.program @few parameters 16384 state 0 slots 0 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @mask parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 3 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    // expected-error@+1 {{C18: expert 'second' must run on a CPU and read a mask of at least 2 elements, one for each expert of its group}}
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @element parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 2 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    // expected-error@+1 {{C18: expert 'first' must run on a CPU and read a mask of at least 3 elements, one for each expert of its group}}
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

func.func private @f()
exec.program @emulated parameters 16384 state 0 slots 2 {
  exec.memory @host arena 128 capacity 32768
  exec.memory @disk file
  exec.device @cpu emulated in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.expert "first" group 0 element 0 mask 2 at 0 bytes 4096
  exec.expert "second" group 0 element 1 mask 2 at 8192 bytes 4100
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %mask = exec.slot @host at 0 bytes 2 tensor "mask"
    %t = exec.slot @host at 64 bytes 64 tensor "t"
    %v = exec.home parameter 0 bytes 4096 tensor "v"
    %w = exec.home parameter 8192 bytes 4100 tensor "w"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e0 = exec.launch @f "route" reads(%x) writes(%mask) on @run
    // expected-error@+1 {{C18: expert 'first' must run on a CPU and read a mask of at least}}
    %e1 = exec.launch @f "first" reads(%x, %v, %mask) writes(%t) on @run
    %e2 = exec.launch @f "second" reads(%t, %w, %mask) writes(%y) on @run
  }
}

// -----

// A slot, which is whole blocks, would have more bytes than can be counted.
func.func private @f()
exec.program @huge parameters 9223372036854775807 state 0 slots 1 {
  exec.memory @host arena 128
  exec.memory @disk file
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  // expected-error@+1 {{C18: bytes [0, 0 + 9223372036854775807) must start at a multiple of 4096}}
  exec.expert "first" group 0 element 0 mask 1 at 0 bytes 9223372036854775807
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %y = exec.home output 0 bytes 64 tensor "y"
    %e = exec.launch @f "copy" reads(%x) writes(%y) on @run
  }
}
