// RUN: sluice-opt %s -verify-diagnostics -split-input-file

// One program a constraint of the dialect's description, each broken in one way.

// C1: two steps.
// expected-error @+1 {{C1: needs at least one memory, and a last step that is the only one without bounds}}
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
  }
  exec.step {
  }
}

// -----

// C1: a foreign operation in a body.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C1: only slots and commands are allowed in the bodies of a program}}
    %0 = "builtin.unrealized_conversion_cast"() : () -> i32
  }
}

// -----

// C1: an event before its command.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    // expected-error @+1 {{C1: uses a value that neither a slot nor an earlier command of this body defines}}
    %e0 = exec.launch @k "a" reads() writes(%x) on @run wait(%e1)
    %e1 = exec.launch @k "b" reads() writes(%y) on @run
  }
}
func.func private @k()

// -----

// C1: a body with arguments.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  // expected-error @+1 {{C1: a body must not have arguments}}
  exec.step {
  ^bb0(%e0: !exec.event):
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %e1 = exec.launch @k "a" reads() writes(%x) on @run wait(%e0)
  }
}
func.func private @k()

// -----

// C2: an undeclared stream.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C2: stream 'nowhere' is not declared}}
    %e = exec.launch @k "op" reads() writes(%x) on @nowhere
  }
}
func.func private @k()

// -----

// C2: an undeclared memory.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C2: memory 'accel1' is not declared}}
    %x = exec.slot @accel1 at 0 bytes 64 tensor "x"
  }
}

// -----

// C2: an undeclared link.
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
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C2: link 'wire' is not declared}}
    %e = exec.swap_in %w to %x bytes 64 via @wire on @in
  }
}

// -----

// C2: an unknown kernel.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C2: kernel 'nowhere' is not declared}}
    %e = exec.launch @nowhere "op" reads() writes(%x) on @run
  }
}

// -----

// C2: a kernel is not looked for in the program.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C2: kernel 'accel' is not declared}}
    %e = exec.launch @accel "op" reads() writes(%x) on @run
  }
}

// -----

// C2: a program as a kernel.
// expected-note @+1 {{declared here as 'exec.program'}}
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C2: 'p' must be a kernel}}
    %e = exec.launch @p "op" reads() writes(%x) on @run
  }
}

// -----

// C2: a device as a stream.
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 128
  // expected-note @+1 {{declared here as 'exec.device'}}
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.step {
    %x = exec.slot @host at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C2: 'cpu' must be a stream}}
    %e = exec.launch @k "op" reads() writes(%x) on @cpu
  }
}
func.func private @k()

// -----

// C2: a stream of a memory.
exec.program @p parameters 0 state 0 {
  // expected-note @+1 {{declared here as 'exec.memory'}}
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{C2: 'host' must be a device}}
  exec.stream @run compute of @host
  exec.step {
  }
}

// -----

// C2: a device in a device.
exec.program @p parameters 0 state 0 {
  exec.memory @host
  // expected-note @+1 {{declared here as 'exec.device'}}
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{C2: 'cpu' must be a memory}}
  exec.device @other cpu in @cpu threads 1 speed 1.0
  exec.step {
  }
}

// -----

// C2: a link to nowhere.
exec.program @p parameters 0 state 0 {
  exec.memory @host
  // expected-error @+1 {{C2: memory 'accel0' is not declared}}
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.step {
  }
}

// -----

// C2: a copy over a stream.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  // expected-note @+1 {{declared here as 'exec.stream'}}
  exec.stream @in in of @accel
  exec.step {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C2: 'in' must be a link}}
    %e = exec.swap_in %w to %x bytes 64 via @in on @in
  }
}

// -----

// C2: a name declared twice, as the same and as another kind.
exec.program @p parameters 0 state 0 {
  exec.memory @host
  // expected-note @+1 {{see existing symbol definition here}}
  exec.memory @accel0
  // expected-error @+1 {{redefinition of symbol named 'accel0'}}
  exec.memory @accel0
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  // expected-note @+1 {{see existing symbol definition here}}
  exec.memory @accel0
  // expected-error @+1 {{redefinition of symbol named 'accel0'}}
  exec.device @accel0 emulated in @accel0 threads 1 speed 1.0
  exec.step {
  }
}

// -----

// C3: an arena beyond its memory's capacity.
exec.program @p parameters 0 state 0 {
  // expected-error @+1 {{C3: arena of 512 bytes exceeds the capacity of the memory}}
  exec.memory @host arena 512 capacity 256
  exec.step {
  }
}

// -----

// C3: a link faster both ways than twice one way.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.memory @accel1
  // expected-error @+1 {{C3: rate must be positive, duplex must be in [rate, 2 x rate] and latency must be at least 0}}
  exec.link @l joins @accel0, @accel1 rate 1.0 duplex 3.0 latency 0
  exec.step {
  }
}

// -----

// C3: an output of unknown shape.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  // expected-error @+1 {{C3: needs a static shape}}
  exec.output "y" : tensor<?xf32>
  exec.step {
  }
}

// -----

// C4: a slot that ends outside its arena.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C4: bytes [448, 448 + 128)}}
    %x = exec.slot @accel0 at 448 bytes 128 tensor "x"
  }
}

// -----

// C4: a slot at an odd place.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C4: bytes [32, 32 + 64)}}
    %x = exec.slot @accel0 at 32 bytes 64 tensor "x"
  }
}

// -----

// C5: a parameter outside the file.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C5: bytes [192, 192 + 128) are not within the parameter file's 256}}
    %w = exec.home parameter 192 bytes 128 tensor "w"
  }
}

// -----

// C5: an input that is not declared.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C5: input 0 is not declared}}
    %x = exec.home input 0 bytes 64 tensor "x"
  }
}

// -----

// C5: an input of another size.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.input "x" : tensor<16xf32>
  exec.step {
    // expected-error @+1 {{C5: input 0 has 64 bytes, and the slot has 128}}
    %x = exec.home input 0 bytes 128 tensor "x"
  }
}

// -----

// C6: a slot written twice.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    // expected-error @+1 {{C6: writes 'x', which another command has written}}
    %e1 = exec.launch @k "b" reads() writes(%x) on @run
  }
}
func.func private @k()

// -----

// C6: a resident slot written.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %w = exec.slot @accel0 at 0 bytes 64 tensor "w" resident
    // expected-error @+1 {{C6: writes 'w', which is resident, a parameter or an input}}
    %e0 = exec.launch @k "a" reads() writes(%w) on @run
  }
}
func.func private @k()

// -----

// C7: a slot read before any write.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    // expected-error @+1 {{C7: reads 'x', which no earlier command has written}}
    %e0 = exec.launch @k "a" reads(%x) writes(%y) on @run
  }
}
func.func private @k()

// -----

// C7: a read that does not wait for the copy.
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
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    %e0 = exec.swap_in %w to %x bytes 64 via @bus on @in
    // expected-error @+1 {{C7: reads 'w', whose write is not ordered before this command, wait for the event of the write}}
    %e1 = exec.launch @k "a" reads(%x) writes(%y) on @run
  }
}
func.func private @k()

// -----

// C7: a read of bytes that hold another tensor now.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %y = exec.slot @accel0 at 0 bytes 64 tensor "y"
    %z = exec.slot @accel0 at 64 bytes 64 tensor "z"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    %e1 = exec.launch @k "b" reads() writes(%y) on @run
    // expected-error @+1 {{C7: reads 'x', which has been overwritten}}
    %e2 = exec.launch @k "c" reads(%x) writes(%z) on @run
  }
}
func.func private @k()

// -----

// C8: a launch on a stream for copies.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C8: stream 'in' does not compute}}
    %e0 = exec.launch @k "a" reads() writes(%x) on @in
  }
}
func.func private @k()

// -----

// C9: a copy on a stream for exchanges.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @exchange communicate of @accel
  exec.step {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: stream 'exchange' must be of kind in or compute on the destination's device}}
    %e0 = exec.swap_in %w to %x bytes 64 via @bus on @exchange
  }
}

// -----

// C8: an accelerator that reads host memory.
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
    // expected-error @+1 {{C8: 'w' is not in memory 'accel0' of the stream's device}}
    %e0 = exec.launch @k "a" reads(%w) writes(%x) on @run
  }
}
func.func private @k()

// -----

// C9: a copy that changes the tensor.
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
    // expected-error @+1 {{C9: copies 'w' to 'x', which is a slot of another tensor}}
    %e0 = exec.swap_in %w to %x bytes 64 via @bus on @in
  }
}

// -----

// C9: more bytes than the slots have.
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
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: copies 65 bytes, which is more than the size of its source or destination slot}}
    %e0 = exec.swap_in %w to %x bytes 65 via @bus on @in
  }
}

// -----

// C9: a swap in that goes out.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %h = exec.slot @host at 0 bytes 64 tensor "x"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    // expected-error @+1 {{C9: swap_in must copy from the host's memory, swap_out must copy to the host's memory, and}}
    %e1 = exec.swap_in %x to %h bytes 64 via @bus on @in wait(%e0)
  }
}
func.func private @k()

// -----

// C9: a swap in on the out stream.
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
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: stream 'out' must be of kind in or compute on the destination's device}}
    %e0 = exec.swap_in %w to %x bytes 64 via @bus on @out
  }
}

// -----

// C9: a link between other memories.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.memory @accel1
  exec.link @other joins @host, @accel1 rate 1.0e9 duplex 2.0e9 latency 0
  exec.step {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %x = exec.slot @accel0 at 0 bytes 64 tensor "w"
    // expected-error @+1 {{C9: link 'other' does not join memories 'host' and 'accel0'}}
    %e0 = exec.swap_in %w to %x bytes 64 via @other on @in
  }
}

// -----

// C10: a copy over bytes that a launch may still read.
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
    // expected-error @+1 {{C10: writes 'w' over 'x', which an earlier command may still use, wait for the event of that command}}
    %e2 = exec.swap_in %w to %w_0 bytes 64 via @bus on @in wait(%e0)
  }
}
func.func private @k()

// -----

// C10: two resident tensors in one place.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %v = exec.slot @accel0 at 0 bytes 128 tensor "v" resident
    // expected-error @+1 {{C10: resident 'w' overlaps resident 'v'}}
    %w = exec.slot @accel0 at 64 bytes 64 tensor "w" resident
  }
}

// -----

// C11: two results in one place.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 128 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    // expected-error @+1 {{C11: writes 'x' and 'y' to the same bytes}}
    %e0 = exec.launch @k "a" reads() writes(%x, %y) on @run
  }
}
func.func private @k()

// -----

// C11: a result over part of an operand.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 128 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 128 tensor "y"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    // expected-error @+1 {{C11: writes 'y' over part of 'x', which it reads}}
    %e1 = exec.launch @k "b" reads(%x) writes(%y) on @run
  }
}
func.func private @k()

// -----

// C12: a wait within a stream.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %y = exec.slot @accel0 at 64 bytes 64 tensor "y"
    %e0 = exec.launch @k "a" reads() writes(%x) on @run
    // expected-error @+1 {{C12: waits for an earlier command of the same stream, which needs no wait}}
    %e1 = exec.launch @k "b" reads(%x) writes(%y) on @run wait(%e0)
  }
}
func.func private @k()

// -----

// C13: an output that is never written.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.output "y" : tensor<16xf32>
  // expected-error @+1 {{C13: output 0 'y' is never written}}
  exec.step {
  }
}

// -----

// C14: a resident tensor that init does not load.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.step {
    // expected-error @+1 {{C14: 'w' is resident, and init does not load it}}
    %w = exec.slot @accel0 at 0 bytes 64 tensor "w" resident
  }
}

// -----

// C14: a resident tensor whose place is lost.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.init {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %w_0 = exec.slot @accel0 at 0 bytes 64 tensor "w"
    %e = exec.swap_in %w to %w_0 bytes 64 via @bus on @in
  }
  exec.step {
    // expected-error @+1 {{C14: 'w' is resident, and 'x' is at its address when the step ends}}
    %w = exec.slot @accel0 at 0 bytes 64 tensor "w" resident
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %e = exec.launch @k "a" reads() writes(%x) on @run
  }
}
func.func private @k()

// -----

// C14: a resident state whose new value is only in its home.
exec.program @p parameters 0 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.state "h" at 0 : tensor<16xf32>
  exec.init {
    %h = exec.home state 0 bytes 64 tensor "h" resident
    %h_0 = exec.slot @accel0 at 0 bytes 64 tensor "h"
    %e = exec.swap_in %h to %h_0 bytes 64 via @bus on @in
  }
  exec.step {
    // expected-error @+1 {{C14: 'h' is resident, and at the end of the step its address holds something other than its new value}}
    %h = exec.slot @accel0 at 0 bytes 64 tensor "h" resident
    %n = exec.slot @accel0 at 64 bytes 64 tensor "n" replaces "h"
    %n_0 = exec.home state 0 bytes 64 tensor "n" replaces "h"
    %e = exec.launch @k "a" reads(%h) writes(%n) on @run
    %f = exec.swap_out %n to %n_0 bytes 64 via @bus on @out wait(%e)
  }
}
func.func private @k()

// -----

// C15: a launch in init.
exec.program @p parameters 256 state 64 {
  exec.memory @host arena 128
  exec.memory @accel0 arena 512 capacity 4096
  exec.device @accel emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.0e9 duplex 2.0e9 latency 0
  exec.stream @run compute of @accel
  exec.stream @in in of @accel
  exec.stream @out out of @accel
  exec.init {
    %x = exec.slot @accel0 at 0 bytes 64 tensor "x"
    // expected-error @+1 {{C15: init may contain only copies}}
    %e = exec.launch @k "a" reads() writes(%x) on @run
  }
  exec.step {
  }
}
func.func private @k()
