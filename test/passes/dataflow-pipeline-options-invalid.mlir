// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=2 microbatches=0' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='rank=2 ranks=2' 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=4 group-ranks=3' 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=64' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='schedule=zero' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='schedule=interleaved stages=4 microbatches=3' 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='flops-per-sec=0' 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not sluice-opt %s --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=2' 2>&1 | FileCheck %s --check-prefix=UNMARKED

// RATE: a rank computes 0.000000e+00 operations and moves 1.000000e+10 bytes per second, options 'flops-per-sec' and 'bytes-per-sec' of dataflow-pipeline, give positive rates
// UNMARKED: has no operator with a position, run the pass dataflow-mark-positions before dataflow-train
// NONE: 0 microbatches is out of range
// GROUPS: 4 ranks cannot be divided into groups of 3, options 'ranks' and 'group-ranks' of dataflow-pipeline, give a multiple
// RANK: rank 2 is out of range for 2 ranks, options 'rank' and 'ranks' of dataflow-pipeline, give 2 or more ranks and a rank below their number
// MANY: stages, give 1 to
// KIND: unknown schedule 'zero' of a pipeline, give gpipe, 1f1b or interleaved
// ODD: needs a number of microbatches that is a multiple of 2, and 3 is not, give another number or use
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
