// RUN: split-file %s %t
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=h 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=g=hn 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=h*=hn 2>&1 | FileCheck %s --check-prefix=STARS
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=h=gn 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=h=hn%%0ah=kn 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=h=kn 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: %fails sluice-opt %t/fixed.mlir --dataflow-carry-states=states=k=hn 2>&1 | FileCheck %s --check-prefix=SIZE
// PAIR: the text does not name an input and an output, option '--state h', write PAST=PRESENT
// INPUT: no input of the model fits this text (both sides of '=' need the same number of stars), option '--state g=hn', use 'h' or 'k'
// STARS: no input of the model fits this text (both sides of '=' need the same number of stars)
// OUTPUT: the model has no output 'gn', option '--state h=gn', use 'hn' or 'kn'
// TWICE: input 'h' and output 'kn' are a pair, and another --state already names one of the two, option '--state h=kn', name each input and each output once
// TYPE: input 'h' and output 'kn' hold f32 in 1 dimensions and i64 in 1, option '--state', pair tensors of the same element type and rank
// SIZE: input 'k' and output 'hn' hold i64 in 1 dimensions and f32 in 1

// RUN: %fails sluice-opt %t/grows.mlir --dataflow-carry-states=states=five=six 2>&1 | FileCheck %s --check-prefix=NUMBERS
// RUN: %fails sluice-opt %t/grows.mlir --dataflow-carry-states=states=five=both 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: %fails sluice-opt %t/grows.mlir --dataflow-carry-states=states=some=more 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: %fails sluice-opt %t/grows.mlir --dataflow-carry-states=states=batch=same 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: %fails sluice-opt %t/grows.mlir --dataflow-carry-states=states=one=one_more%%0atwo=two_more 2>&1 | FileCheck %s --check-prefix=DIFFERENT
// NUMBERS: input 'five' and output 'six' have at most 5 elements before and 6 after a step in dimension 0, and a state that grows needs a range in this dimension, option '--state', give a range by --dim NAME=0..MOST
// BOTH: input 'five' and output 'both' differ in dimensions 0 and 1, and a state can grow along one dimension only, option '--state', give one of these dimensions the same size in both
// LEAST: grow along dimension 0, and the range of this dimension must start at 0 and have steps of 1 (it starts at 1), option '--state', give the range by --dim some=0..7
// RANGE: input 'batch' and output 'same' have the same range of sizes in dimension 0, and a state needs one size in a dimension that a step does not change, option '--state', give this dimension one size by --dim
// DIFFERENT: input 'two' and output 'two_more' and input 'one' and output 'one_more' grow by different numbers of positions along dimensions of the same name, option '--state', leave one of the two pairs out

//--- fixed.mlir
func.func @fixed(%h: tensor<4xf32> {dataflow.name = "h"}, %k: tensor<5xi64> {dataflow.name = "k"})
    -> (tensor<4xf32> {dataflow.name = "hn"}, tensor<5xi64> {dataflow.name = "kn"}) {
  %0 = dataflow.unary tanh %h : tensor<4xf32>
  %1 = dataflow.copy %k : tensor<5xi64>
  return %0, %1 : tensor<4xf32>, tensor<5xi64>
}

//--- grows.mlir
#symbols = #dataflow.symbols<"some" = 1 to 7, "past" = 0 to 7>
#s = #dataflow.extents<()[s0, s1] -> (s0, 1), #symbols>
#s1 = #dataflow.extents<()[s0, s1] -> (s0 + 1, 1), #symbols>
#p = #dataflow.extents<()[s0, s1] -> (s1, 1), #symbols>
#p1 = #dataflow.extents<()[s0, s1] -> (s1 + 1, 1), #symbols>
#p2 = #dataflow.extents<()[s0, s1] -> (s1 + 2, 1), #symbols>
func.func @grows(%five: tensor<5x1xf32> {dataflow.name = "five"}, %some: tensor<7x1xf32, #s> {dataflow.name = "some"},
                 %batch: tensor<7x1xf32, #s> {dataflow.name = "batch"}, %one: tensor<7x1xf32, #p> {dataflow.name = "one"},
                 %two: tensor<7x1xf32, #p> {dataflow.name = "two"}, %row: tensor<1x1xf32> {dataflow.name = "row"})
    -> (tensor<6x1xf32> {dataflow.name = "six"}, tensor<6x2xf32> {dataflow.name = "both"},
        tensor<8x1xf32, #s1> {dataflow.name = "more"}, tensor<7x1xf32, #s> {dataflow.name = "same"},
        tensor<8x1xf32, #p1> {dataflow.name = "one_more"}, tensor<9x1xf32, #p2> {dataflow.name = "two_more"}) {
  %six = dataflow.concat %five, %row {axis = 0 : i64} : tensor<5x1xf32>, tensor<1x1xf32> -> tensor<6x1xf32>
  %both = dataflow.concat %six, %six {axis = 1 : i64} : tensor<6x1xf32>, tensor<6x1xf32> -> tensor<6x2xf32>
  %more = dataflow.concat %some, %row {axis = 0 : i64} : tensor<7x1xf32, #s>, tensor<1x1xf32> -> tensor<8x1xf32, #s1>
  %same = dataflow.unary tanh %batch : tensor<7x1xf32, #s>
  %one_more = dataflow.concat %one, %row {axis = 0 : i64} : tensor<7x1xf32, #p>, tensor<1x1xf32> -> tensor<8x1xf32, #p1>
  %two_more = dataflow.concat %two, %row, %row {axis = 0 : i64} : tensor<7x1xf32, #p>, tensor<1x1xf32>, tensor<1x1xf32> -> tensor<9x1xf32, #p2>
  return %six, %both, %more, %same, %one_more, %two_more
      : tensor<6x1xf32>, tensor<6x2xf32>, tensor<8x1xf32, #s1>, tensor<7x1xf32, #s>, tensor<8x1xf32, #p1>, tensor<9x1xf32, #p2>
}
