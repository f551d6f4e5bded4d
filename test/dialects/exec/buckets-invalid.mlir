// RUN: sluice-opt %s -split-input-file -verify-diagnostics

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
// expected-error @+1 {{C1: needs at least one memory, and a last step that is the only one without bounds}}
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
  }
  // expected-error @+1 {{C17: has the same bounds as an earlier step}}
  exec.step for [4] arenas [64] {
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  // expected-error @+1 {{C17: has 2 bounds and 1 arenas, and the program has 1 symbols and 1 memories}}
  exec.step for [4, 4] arenas [0] {
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  // expected-error @+1 {{C17: bound 5 is not a value of symbol 'length', which has values from 2 to 16 in steps of 2}}
  exec.step for [5] arenas [0] {
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  // expected-error @+1 {{C17: arena of 128 bytes must be from 0 to 64, the size of the program's arena in memory 'host'}}
  exec.step for [4] arenas [128] {
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  // expected-error @+1 {{C1: must have the bounds of a step, and no other init may have the same bounds}}
  exec.init for [6] {
  }
  exec.step for [4] arenas [0] {
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
    // expected-error @+1 {{C5: input 0 has 16 bytes, and the slot has 64}}
    %x = exec.home input 0 bytes 64 tensor "x"
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  exec.step for [4] arenas [0] {
    // expected-error @+1 {{C4: bytes [0, 0 + 16) must start at a multiple of 64 and end within the arena's 0}}
    %x = exec.slot @host at 0 bytes 16 tensor "x"
  }
  exec.step {
  }
}

// -----

#symbols = #dataflow.symbols<"length" = 2 to 16 by 2>
exec.program @p parameters 0 state 0 {
  exec.memory @host arena 64
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.stream @run compute of @cpu
  exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
  // expected-error @+1 {{C17: must have both bounds and arenas, or neither}}
  "exec.step"() <{bounds = array<i64: 4>}> ({
  ^bb0:
  }) : () -> ()
  exec.step {
  }
}
