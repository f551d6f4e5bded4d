// RUN: sluice-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(kernel-simplify))' | FileCheck %s

#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "", vector_bits = 256, registers = 16, architectures = []>
module attributes {exec.target = #target} {
  // A quotient that is rounded and clamped is a product with the reciprocal and its rest, corrected once.
  // CHECK-LABEL: func.func @clamped
  // CHECK-SAME: %[[X:[^:]*]]: vector<8xf32>
  // CHECK-DAG: %[[R:.*]] = arith.constant dense<33.3333359>
  // CHECK-DAG: %[[REST:.*]] = arith.constant dense<-1.79807341E-6>
  // CHECK-DAG: %[[MINUS:.*]] = arith.constant dense<-3.000000e-02>
  // CHECK-DAG: %[[MOST:.*]] = arith.constant dense<5.5340231E+17>
  // CHECK-DAG: %[[LEAST:.*]] = arith.constant dense<-5.5340231E+17>
  // CHECK: arith.cmpf ogt, %[[X]], %[[MOST]]
  // CHECK: arith.cmpf olt, %{{.*}}, %[[LEAST]]
  // CHECK: %[[IN:.*]] = arith.select %{{.*}}, %[[LEAST]]
  // CHECK: %[[LOW:.*]] = arith.mulf %[[IN]], %[[REST]]
  // CHECK: %[[Q:.*]] = math.fma %[[IN]], %[[R]], %[[LOW]]
  // CHECK: %[[LEFT:.*]] = math.fma %[[Q]], %[[MINUS]], %[[IN]]
  // CHECK: %[[EXACT:.*]] = math.fma %[[LEFT]], %[[R]], %[[Q]]
  // CHECK: math.roundeven %[[EXACT]]
  // CHECK-NOT: arith.divf
  func.func @clamped(%x: vector<8xf32>) -> vector<8xi8> {
    %scale = arith.constant 3.0e-2 : f32
    %s = vector.broadcast %scale : f32 to vector<8xf32>
    %low = arith.constant dense<0.0> : vector<8xf32>
    %high = arith.constant dense<255.0> : vector<8xf32>
    %q = arith.divf %x, %s : vector<8xf32>
    %r = math.roundeven %q : vector<8xf32>
    %isAbove = arith.cmpf ogt, %r, %low : vector<8xf32>
    %raised = arith.select %isAbove, %r, %low : vector<8xi1>, vector<8xf32>
    %isBeyond = arith.cmpf ogt, %raised, %high : vector<8xf32>
    %in = arith.select %isBeyond, %high, %raised : vector<8xi1>, vector<8xf32>
    %i = arith.fptoui %in : vector<8xf32> to vector<8xi8>
    return %i : vector<8xi8>
  }

  // Numbers beyond 2^63 may not differ where they are seen, nor zeros.
  // CHECK-LABEL: func.func @seen
  // CHECK: arith.divf
  func.func @seen(%x: f32) -> f32 {
    %s = arith.constant 3.0e-2 : f32
    %q = arith.divf %x, %s : f32
    %r = math.roundeven %q : f32
    return %r : f32
  }

  // CHECK-LABEL: func.func @clamped_on_one_side
  // CHECK: arith.divf
  func.func @clamped_on_one_side(%x: f32) -> f32 {
    %s = arith.constant 3.0e-2 : f32
    %low = arith.constant 0.0 : f32
    %q = arith.divf %x, %s : f32
    %r = math.roundeven %q : f32
    %isAbove = arith.cmpf ogt, %r, %low : f32
    %raised = arith.select %isAbove, %r, %low : f32
    return %raised : f32
  }

  // Its reciprocal has digits below the least normal float.
  // CHECK-LABEL: func.func @by_much
  // CHECK: arith.divf
  func.func @by_much(%x: f32) -> i8 {
    %s = arith.constant 1.0e30 : f32
    %q = arith.divf %x, %s : f32
    %r = math.roundeven %q : f32
    %i = arith.fptosi %r : f32 to i8
    return %i : i8
  }

  // A whole number stays a float; 0 is added for the sign of zero.
  // CHECK-LABEL: func.func @whole
  // CHECK-SAME: %[[X:[^:]*]]: f32
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: %[[R:.*]] = math.roundeven %[[X]]
  // CHECK: %[[SUM:.*]] = arith.addf %[[R]], %[[ZERO]]
  // CHECK: return %[[SUM]]
  func.func @whole(%x: f32) -> f32 {
    %r = math.roundeven %x : f32
    %i = arith.fptosi %r : f32 to i16
    %y = arith.sitofp %i : i16 to f32
    return %y : f32
  }

  // CHECK-LABEL: func.func @fraction
  // CHECK: arith.fptosi
  // CHECK: arith.sitofp
  func.func @fraction(%x: f32) -> f32 {
    %i = arith.fptosi %x : f32 to i16
    %y = arith.sitofp %i : i16 to f32
    return %y : f32
  }
}

// -----

// Without an instruction that rounds once, a division is the shortest.
#target = #exec.target<name = "x86-64-v2", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v2", features = "", tune = "generic",
                       required = "", vector_bits = 128, registers = 16, architectures = []>
module attributes {exec.target = #target} {
  // CHECK-LABEL: func.func @without_fma
  // CHECK: arith.divf
  func.func @without_fma(%x: f32) -> i8 {
    %s = arith.constant 3.0e-2 : f32
    %q = arith.divf %x, %s : f32
    %r = math.roundeven %q : f32
    %i = arith.fptosi %r : f32 to i8
    return %i : i8
  }
}
