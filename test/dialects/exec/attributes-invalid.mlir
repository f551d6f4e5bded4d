// RUN: sluice-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{a target must have a name, a triple and a cpu, write them or run exec-attach-target}}
#target = #exec.target<name = "x86-64-v3", triple = "", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [80, 90]>

// -----

// expected-error @+1 {{target 'x86-64-v3' has 16 vector registers of -1 bits, write 1 to 1024 registers of a power of two from 32 to 65536 bits}}
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = -1, registers = 16, architectures = [80, 90]>

// -----

// expected-error @+1 {{target 'x86-64-v3' has 16 bytes of second-level cache, write 4096 to 1073741824}}
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [80, 90], l2_bytes = 16>

// -----

// expected-error @+1 {{target 'x86-64-v3' has 0 vector registers of 256 bits}}
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 0, architectures = [80, 90]>

// -----

// expected-error @+1 {{target 'x86-64-v3' has architectures [90, 80], write numbers of GPU architectures in ascending order, such as 80 for sm_80}}
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90, 80]>

// -----

// expected-error @+1 {{target 'x86-64-v3' has architectures [-5]}}
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic", required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [-5]>

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{attribute 'exec.fixed' is not array<i8: ...> of the 16 bytes of input 'x', write one number for each byte}}
  exec.input "x" : tensor<2xi64> {exec.fixed = array<i8: 1, 2>}
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{attribute 'exec.fixed' is not array<i8: ...> of the 16 bytes of input 'x'}}
  exec.input "x" : tensor<2xi64> {exec.fixed = "ones"}
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{attribute 'exec.range' is array<i64: 1, 2>, write array<i64: LEAST, GREATEST, OTHER> (the bounds, and one more allowed value) on an input of i32 or i64}}
  exec.input "x" : tensor<2xi64> {exec.range = array<i64: 1, 2>}
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{attribute 'exec.range' is array<i64: 0, 1, 0>, write array<i64: LEAST, GREATEST, OTHER> (the bounds, and one more allowed value) on an input of i32 or i64}}
  exec.input "x" : tensor<2xf32> {exec.range = array<i64: 0, 1, 0>}
  exec.step {
  }
}

// -----

exec.program @p parameters 0 state 0 {
  exec.memory @host
  exec.device @cpu cpu in @host threads 1 speed 1.0
  // expected-error @+1 {{attribute 'exec.range' is only for exec.input, remove it}}
  exec.output "y" : tensor<2xi64> {exec.range = array<i64: 0, 1, 0>}
  exec.step {
  }
}
