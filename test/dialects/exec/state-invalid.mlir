// RUN: sluice-opt %s -verify-diagnostics -split-input-file

// The store's first content would end past the store.
// expected-error @+1 {{C3: the initial contents of the states must be inside the parameter file and must not be larger than the state store (the memory of all states)}}
exec.program @p parameters 320 state 32 initially 256 {
  exec.memory @host arena 64
  exec.step {
  }
}

// -----

// It would begin past the end of the file.
// expected-error @+1 {{C3: the initial contents of the states must be inside the parameter file and must not be larger than the state store (the memory of all states)}}
exec.program @p parameters 320 state 128 initially 321 {
  exec.memory @host arena 64
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C5: 'w' exceeds the state store (the memory of all states), whose size in bytes is 128}}
  exec.state "w" at 68 : tensor<16xf32>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C5: 'w' exceeds the state store (the memory of all states), whose size in bytes is 128}}
  exec.state "w" at -64 : tensor<16xf32>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C3: 'w' has no static size}}
  exec.state "w" at 0 : tensor<?xf32>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C3: 'w' has no static size}}
  exec.state "w" at 0 : tensor<4xindex>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C3: 'w' has no static size}}
  exec.state "w" at 0 : tensor<9223372036854775807x9223372036854775807xf32>
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C3: 'w' must list a number of blocks of at least 1 for each of its cuts}}
  exec.state "w" at 0 : tensor<16xf32> cuts [0, 2, 1] blocks [3, 3]
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 128 {
  exec.memory @host arena 64
  // expected-error @+1 {{C3: 'w' has an extent of 16 in dimension 0, which must be a multiple of its number of blocks, 3}}
  exec.state "w" at 0 : tensor<16xf32> cuts [0, 2, 1] blocks [3]
  exec.step {
  }
}
