// RUN: sluice-opt %s --split-input-file --dataflow-carry-states="states=past.*.key=present.*.key" | FileCheck %s

// An input and an output of one type: the input is what the output was in the step before. Others stay.
// CHECK-LABEL: func.func @fixed
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32> {dataflow.name = "x"})
// CHECK-SAME: -> (tensor<4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.updates = "past.h.key"})
// CHECK: %[[H:.*]] = dataflow.state "past.h.key" dense<0.000000e+00> : tensor<4xf32>
// CHECK: %[[SUM:.*]] = dataflow.binary add %[[X]], %[[H]]
// CHECK: return %{{.*}}, %[[SUM]]
func.func @fixed(%x: tensor<4xf32> {dataflow.name = "x"}, %h: tensor<4xf32> {dataflow.name = "past.h.key"})
    -> (tensor<4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.name = "present.h.key"}) {
  %0 = dataflow.binary add %x, %h : tensor<4xf32>, tensor<4xf32>
  %1 = dataflow.unary tanh %0 : tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What a step adds is stored behind what is there, in room for all. Readers of the whole read its leading part, and so
// do those of the part before the step.
#symbols = #dataflow.symbols<"past" = 0 to 15, "new" = 1 to 4>
// CHECK-LABEL: func.func @grows
// CHECK-SAME: (%[[ROWS:.*]]: tensor<2x4x8xf32, {{.*}}> {dataflow.name = "rows"})
// CHECK: %[[STATE:.*]] = dataflow.state "past.0.key" length <()[s0, s1] -> (s0, s0 + s1), <"past" = 0 to 15, "new" = 1 to 4>>
// CHECK-SAME: dense<0.000000e+00> : tensor<2x19x8xf32>
// CHECK: %[[BEFORE:.*]] = dataflow.slice %[[STATE]] from [0, 0, 0] by [1, 1, 1] : tensor<2x19x8xf32> -> tensor<2x15x8xf32,
// CHECK: %[[START:.*]] = dataflow.extents #{{.*}} of
// CHECK: %[[NEXT:.*]] = dataflow.insert %[[STATE]], %[[ROWS]] at %[[START]] {dim = 1 : i64}
// CHECK: %[[ALL:.*]] = dataflow.slice %[[NEXT]] from [0, 0, 0] by [1, 1, 1] : tensor<2x19x8xf32> -> tensor<2x19x8xf32,
// CHECK: dataflow.reduce sum %[[ALL]]
// CHECK: dataflow.reduce sum %[[BEFORE]]
// CHECK: return %{{.*}}, %{{.*}}, %[[NEXT]]
func.func @grows(%past: tensor<2x15x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0, 8), #symbols>> {dataflow.name = "past.0.key"},
                 %rows: tensor<2x4x8xf32, #dataflow.extents<()[s0, s1] -> (2, s1, 8), #symbols>> {dataflow.name = "rows"})
    -> (tensor<2x8xf32> {dataflow.name = "sum"}, tensor<2x8xf32> {dataflow.name = "before"},
        tensor<2x19x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0 + s1, 8), #symbols>> {dataflow.name = "present.0.key"}) {
  %0 = dataflow.concat %past, %rows {axis = 1 : i64}
      : tensor<2x15x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0, 8), #symbols>>,
        tensor<2x4x8xf32, #dataflow.extents<()[s0, s1] -> (2, s1, 8), #symbols>>
     -> tensor<2x19x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0 + s1, 8), #symbols>>
  %1 = dataflow.reduce sum %0 axes [1] : tensor<2x19x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0 + s1, 8), #symbols>> -> tensor<2x8xf32>
  %2 = dataflow.reduce sum %past axes [1] : tensor<2x15x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0, 8), #symbols>> -> tensor<2x8xf32>
  return %1, %2, %0 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x19x8xf32, #dataflow.extents<()[s0, s1] -> (2, s0 + s1, 8), #symbols>>
}

// -----

// Where the new value is no concatenation behind the old one, all of it is stored from the first position on.
#symbols = #dataflow.symbols<"past" = 0 to 7>
// CHECK-LABEL: func.func @anew
// CHECK: %[[STATE:.*]] = dataflow.state "past.1.key" length {{.*}} : tensor<8xf32>
// CHECK: %[[ZERO:.*]] = dataflow.constant dense<0> : tensor<i64>
// CHECK: %[[NEXT:.*]] = dataflow.insert %[[STATE]], %{{.*}} at %[[ZERO]] {dim = 0 : i64}
// CHECK: return %[[NEXT]]
func.func @anew(%past: tensor<7xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> {dataflow.name = "past.1.key"},
                %x: tensor<1xf32> {dataflow.name = "x"})
    -> (tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>> {dataflow.name = "present.1.key"}) {
  %0 = dataflow.concat %x, %past {axis = 0 : i64}
      : tensor<1xf32>, tensor<7xf32, #dataflow.extents<()[s0] -> (s0), #symbols>> -> tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>>
  return %0 : tensor<8xf32, #dataflow.extents<()[s0] -> (s0 + 1), #symbols>>
}

// -----

// A product with the transposition of the cache's matrices reads the cache itself.
#symbols = #dataflow.symbols<"past" = 0 to 7>
#whole = #dataflow.extents<()[s0] -> (1, s0 + 1, 4), #symbols>
#turned = #dataflow.extents<()[s0] -> (1, 4, s0 + 1), #symbols>
#scores = #dataflow.extents<()[s0] -> (1, 1, s0 + 1), #symbols>
// CHECK-LABEL: func.func @turned
// CHECK: %[[ALL:.*]] = dataflow.slice
// CHECK-NOT: dataflow.transpose
// CHECK: dataflow.matmul %{{.*}}, %[[ALL]] transposed
func.func @turned(%past: tensor<1x7x4xf32, #dataflow.extents<()[s0] -> (1, s0, 4), #symbols>> {dataflow.name = "past.2.key"},
                  %x: tensor<1x1x4xf32> {dataflow.name = "x"})
    -> (tensor<1x1x8xf32, #scores> {dataflow.name = "y"}, tensor<1x8x4xf32, #whole> {dataflow.name = "present.2.key"}) {
  %0 = dataflow.concat %past, %x {axis = 1 : i64}
      : tensor<1x7x4xf32, #dataflow.extents<()[s0] -> (1, s0, 4), #symbols>>, tensor<1x1x4xf32> -> tensor<1x8x4xf32, #whole>
  %1 = dataflow.transpose %0 [0, 2, 1] : tensor<1x8x4xf32, #whole>
  %2 = dataflow.matmul %x, %1 : tensor<1x1x4xf32>, tensor<1x4x8xf32, #turned>
  return %2, %0 : tensor<1x1x8xf32, #scores>, tensor<1x8x4xf32, #whole>
}
