// RUN: sluice-opt %s --split-input-file --verify-diagnostics

func.func @arguments(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.if' op has a program whose argument types differ from the types of the passed operands}}
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<5xf32>):
    %r = dataflow.slice %a from [0] by [1] : tensor<5xf32> -> tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @results(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.if' op has a program whose yielded types differ from the result types}}
  %y = dataflow.if %c captured(%x, %z) : (tensor<i1>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<5xf32>):
    dataflow.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>, %b: tensor<5xf32>):
    dataflow.yield %b : tensor<5xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @condition(%c: tensor<1xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{operand #0 must be 0D tensor}}
  %y = dataflow.if %c captured(%x) : (tensor<1xi1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @isolated(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @+1 {{required by region isolation constraints}}
  %y = dataflow.if %c captured() : (tensor<i1>) -> tensor<4xf32> {
    // expected-error @+1 {{using value defined outside the region}}
    %r = dataflow.unary relu %x : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  } else {
    %r = dataflow.constant dense<0.0> : tensor<4xf32>
    dataflow.yield %r : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @terminator(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.if' op has a program that does not end with dataflow.yield}}
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    llvm.unreachable
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @member(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.if' op member 'dataflow.state' cannot run within a kernel}}
  %y = dataflow.if %c captured(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %s = dataflow.state "s" dense<0.0> : tensor<4xf32>
    dataflow.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @carried(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.loop' op must yield one i1, the carried tensors and the stacked tensors}}
  %y, %count = dataflow.loop %n, %c carried(%x) captured() {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    dataflow.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @stacked(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<7x4xf32> {
  // expected-error @+1 {{'dataflow.loop' op stacks tensors of 'tensor<4xf32>', at most 8 of them, so its result must have this number as its first extent, got 'tensor<7x4xf32>'}}
  %y, %all, %count = dataflow.loop %n, %c carried(%x) captured() {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %on = dataflow.constant dense<true> : tensor<i1>
    dataflow.yield %on, %a, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %all : tensor<7x4xf32>
}

// -----

func.func @count(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'dataflow.loop' op must return the carried tensors, the stacked tensors and one i64}}
  %y = dataflow.loop %n, %c carried(%x) captured() {most = 8 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %on = dataflow.constant dense<true> : tensor<i1>
    dataflow.yield %on, %a : tensor<i1>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @most(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{attribute 'most' failed to satisfy constraint}}
  %y, %count = dataflow.loop %n, %c carried(%x) captured() {most = -1 : i64}
    : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<4xf32>):
    %on = dataflow.constant dense<true> : tensor<i1>
    dataflow.yield %on, %a : tensor<i1>, tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @fewer(%c: tensor<i1>, %x: tensor<40xf32>) -> tensor<40xf32> {
  // expected-error @+1 {{'dataflow.if' op has only 1 offsets, give one offset for each buffer}}
  %y = dataflow.if %c captured(%x) {offsets = array<i64: 0>} : (tensor<i1>, tensor<40xf32>) -> tensor<40xf32> {
  ^bb0(%a: tensor<40xf32>):
    %r = dataflow.unary relu %a : tensor<40xf32>
    %s = dataflow.unary exp %r : tensor<40xf32>
    %t = dataflow.binary add %s, %r : tensor<40xf32>, tensor<40xf32>
    dataflow.yield %t : tensor<40xf32>
  } else {
  ^bb0(%a: tensor<40xf32>):
    dataflow.yield %a : tensor<40xf32>
  }
  return %y : tensor<40xf32>
}

// -----

func.func @overlap(%c: tensor<i1>, %x: tensor<40xf32>) -> tensor<40xf32> {
  // expected-error @+1 {{'dataflow.if' op has buffers at 0 and 128 that overlap while both are in use}}
  %y = dataflow.if %c captured(%x) {offsets = array<i64: 0, 128>} : (tensor<i1>, tensor<40xf32>) -> tensor<40xf32> {
  ^bb0(%a: tensor<40xf32>):
    %r = dataflow.unary relu %a : tensor<40xf32>
    %s = dataflow.unary exp %r : tensor<40xf32>
    %t = dataflow.binary add %s, %r : tensor<40xf32>, tensor<40xf32>
    dataflow.yield %t : tensor<40xf32>
  } else {
  ^bb0(%a: tensor<40xf32>):
    dataflow.yield %a : tensor<40xf32>
  }
  return %y : tensor<40xf32>
}

// -----

func.func @aligned(%c: tensor<i1>, %x: tensor<40xf32>) -> tensor<40xf32> {
  // expected-error @+1 {{'dataflow.if' op has offset 8, which is not a multiple of 64}}
  %y = dataflow.if %c captured(%x) {offsets = array<i64: 8>} : (tensor<i1>, tensor<40xf32>) -> tensor<40xf32> {
  ^bb0(%a: tensor<40xf32>):
    %r = dataflow.unary relu %a : tensor<40xf32>
    %s = dataflow.unary exp %r : tensor<40xf32>
    dataflow.yield %s : tensor<40xf32>
  } else {
  ^bb0(%a: tensor<40xf32>):
    dataflow.yield %a : tensor<40xf32>
  }
  return %y : tensor<40xf32>
}

// -----

func.func @more(%c: tensor<i1>, %x: tensor<40xf32>) -> tensor<40xf32> {
  // expected-error @+1 {{'dataflow.if' op has 2 offsets for 1 buffers, give one offset for each buffer}}
  %y = dataflow.if %c captured(%x) {offsets = array<i64: 0, 256>} : (tensor<i1>, tensor<40xf32>) -> tensor<40xf32> {
  ^bb0(%a: tensor<40xf32>):
    %r = dataflow.unary relu %a : tensor<40xf32>
    %s = dataflow.unary exp %r : tensor<40xf32>
    dataflow.yield %s : tensor<40xf32>
  } else {
  ^bb0(%a: tensor<40xf32>):
    dataflow.yield %a : tensor<40xf32>
  }
  return %y : tensor<40xf32>
}

// -----

func.func @dependent(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @+1 {{'dataflow.concurrent' op member 'dataflow.unary' uses a result of another member}}
  %r:2 = dataflow.concurrent captured(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = dataflow.unary relu %a : tensor<4xf32>
    %q = dataflow.unary exp %p : tensor<4xf32>
    dataflow.yield %p, %q : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // expected-error @+1 {{'dataflow.concurrent' op must yield the results of the members, in order}}
  %r:2 = dataflow.concurrent captured(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %p = dataflow.unary relu %a : tensor<4xf32>
    %q = dataflow.unary exp %a : tensor<4xf32>
    dataflow.yield %q, %p : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

#symbols = #dataflow.symbols<"kept" = 0 to 8 found>
func.func @found_behind(%t: tensor<i64>, %c: tensor<i1>, %x: tensor<8xf32>, %n: tensor<i64>, %s: tensor<f32>) -> tensor<f32> {
  // expected-error @+1 {{'dataflow.loop' op member 'dataflow.extents' uses an extent that only a later member computes, move that member forward}}
  %y:2 = dataflow.loop %t, %c carried(%s) captured(%x, %n) {most = 4 : i64} : (tensor<i64>, tensor<i1>, tensor<f32>, tensor<8xf32>, tensor<i64>) -> (tensor<f32>, tensor<i64>) {
  ^bb0(%i: tensor<i64>, %a: tensor<f32>, %b: tensor<8xf32>, %m: tensor<i64>):
    %go = dataflow.constant dense<true> : tensor<i1>
    %k = dataflow.extents affine_map<()[s0] -> (s0)> of #symbols : tensor<i64>
    %f = dataflow.take_first %b, %m {dim = 0 : i64, symbol = 0 : i64} : tensor<8xf32>, tensor<i64> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
    %r = dataflow.reduce sum %f axes [0] : tensor<8xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> -> tensor<f32>
    %g = dataflow.cast %k : tensor<i64> -> tensor<f32>
    %z = dataflow.binary add %r, %g : tensor<f32>, tensor<f32>
    dataflow.yield %go, %z : tensor<i1>, tensor<f32>
  }
  return %y#0 : tensor<f32>
}
