// RUN: sluice-opt %s -split-input-file -verify-diagnostics

#rows = #dataflow.symbols<"rows" = 1 to 4>
#columns = #dataflow.symbols<"columns" = 1 to 4>
exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.input "x" : tensor<4xf32, #dataflow.extents<()[s0] -> (s0), #rows>>
  // expected-error @+1 {{C16: 'w' and an earlier port have different symbols, express all extents by one #dataflow.symbols}}
  exec.input "w" : tensor<4xf32, #dataflow.extents<()[s0] -> (s0), #columns>>
  exec.step {
  }
}

// -----

// expected-error @+1 {{C16: symbol "columns" is neither the extent of an input's dimension nor the length of a state, so no step can know its value}}
exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.input "x" : tensor<4x8xf32, #dataflow.extents<()[s0, s1] -> (s0, s1 + 1), <"rows" = 1 to 4, "columns" = 1 to 7>>>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 64 {
  exec.memory @host
  // expected-error @+1 {{C16: state 'cache' has extents that change between steps, give the state fixed extents}}
  exec.state "cache" at 0 : tensor<4xf32, #dataflow.extents<()[s0] -> (s0), <"rows" = 1 to 4>>>
  exec.step {
  }
}

// -----

// expected-error @+1 {{C16: symbol "past" is neither the extent of an input's dimension nor the length of a state, so no step can know its value}}
exec.program @none parameters 0 state 64 symbols #dataflow.symbols<"past" = 0 to 15> {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.state "past" at 0 : tensor<16xf32>
  exec.step {}
}

// -----

exec.program @length parameters 0 state 64 symbols #dataflow.symbols<"past" = 0 to 15> {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{C16: state 'past' has the length 16 : i64, write #dataflow.extents with two results: a symbol of the program, and the value of this symbol in the next step}}
  exec.state "past" at 0 : tensor<16xf32> length 16 : i64
  exec.step {}
}
