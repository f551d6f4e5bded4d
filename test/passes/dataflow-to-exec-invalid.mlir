// RUN: sluice-opt %s --dataflow-to-exec -split-input-file -verify-diagnostics

#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
// expected-error @+1 {{the module has no attribute 'exec.plan', run the passes exec-attach-machine and dataflow-apply-plan first}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

#plan = #exec.plan<arenas = [0], streams = [], slots = [], commands = []>
// expected-error @+1 {{the module has no attribute 'exec.machine', run the passes exec-attach-machine and dataflow-apply-plan first}}
module {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [], slots = [], commands = []>
// expected-error @+1 {{attribute 'exec.plan', apply a valid plan}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "gpu0", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{device 'gpu0' does not exist, attribute 'exec.plan', apply the plan of this program and machine}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<
  arenas = [0],
  streams = [#exec.stream<device = "cpu", kind = compute>],
  slots = [#exec.slot<tensor = "x", memory = "host", bytes = 32, resident = true>,
           #exec.slot<tensor = "elementwise", memory = "host", bytes = 32>],
  commands = [#exec.launch<op = "elementwise", stream = 0, reads = [0], writes = [1], waits = []>]>
// expected-error @+1 {{operator 'elementwise' is not on the device that the plan gives, attribute 'dataflow.device', run the pass dataflow-apply-plan with phase=place first}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// expected-error @+1 {{command 0 of a plan names a stream or slot that is not listed, or waits for a command that does not come before it}}
#plan = #exec.plan<arenas = [0], streams = [], slots = [], commands = [#exec.launch<op = "a", stream = 0, reads = [], writes = [], waits = []>]>

// -----

// expected-error @+1 {{'far' is not a memory of the machine}}
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "far", threads = 1, speed = 1.0>], links = []>

// -----

// expected-error @+1 {{attribute 'exec.plan' is "none", write #exec.plan<...>}}
func.func @main() attributes {exec.plan = "none"} {
  return
}
