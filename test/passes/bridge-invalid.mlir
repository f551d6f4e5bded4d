// Every pass that reads a function as the planner's graph or as a tensor program refuses one that it cannot read.
// RUN: sluice-opt %s --dataflow-to-exec -split-input-file -verify-diagnostics

// An operation of another dialect.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{'arith.addf' is not an operator of the dataflow dialect, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = arith.addf %x, %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// Several blocks.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{the function has several blocks, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    cf.br ^next
  ^next:
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// An argument of a type that no caller has.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{argument 1 has an element type that ONNX does not have, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i5>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// An argument without elements, whose other extents overflow.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{argument 1 has extents whose product does not fit 64 bits, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>, %n: tensor<4611686018427387904x0xf32>) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// An argument that is not a tensor.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{argument 1 is not a tensor of static shape, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>, %n: i32) -> tensor<8xf32> attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// An argument of dynamic shape.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{argument 0 is not a tensor of static shape, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> attributes {exec.plan = #plan} {
    return %x : tensor<?xf32>
  }
}

// -----

// Elements without a size.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{argument 0 is not a tensor of static shape, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xindex>) -> tensor<8xindex> attributes {exec.plan = #plan} {
    return %x : tensor<8xindex>
  }
}

// -----

// Two states of one name.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{two states have the name 'h', function 'main', give each of the states a name of its own}}
module attributes {exec.machine = #machine} {
  func.func @main() -> tensor<8xf32> attributes {exec.plan = #plan} {
    %h = dataflow.state "h" dense<0.0> : tensor<8xf32>
    %g = dataflow.state "h" dense<0.0> : tensor<8xf32>
    %0 = dataflow.binary add %h, %g : tensor<8xf32>, tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// An update of no state.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
// expected-error @+1 {{result 0 updates 'g', which is not a state of the same type, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {dataflow.updates = "g"}) attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A result's name that is no text.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
module attributes {exec.machine = #machine} {
  // expected-error @+1 {{attribute 'dataflow.name' is 3 : i64, write a string}}
  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {dataflow.name = 3 : i64}) attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// A symbol of which no step learns the value.
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
#line = #dataflow.extents<()[s0] -> (s0), <"n" = 1 to 8>>
// expected-error @+1 {{symbol 'n' is neither the extent of an argument's dimension nor the length of a state, function 'main', give a program in the form that --compile-to=import prints}}
module attributes {exec.machine = #machine} {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xi1, #line> attributes {exec.plan = #plan} {
    %0 = dataflow.constant dense<2> : tensor<i64>
    %1 = dataflow.dropout_mask %0 {keep = 0.75 : f64, seed = 3 : i64} : (tensor<i64>) -> tensor<8xi1, #line>
    return %1 : tensor<8xi1, #line>
  }
}
