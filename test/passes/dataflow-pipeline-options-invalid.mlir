// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=2 microbatches=0' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='rank=2 ranks=2' 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='ranks=64' 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='schedule=zero' 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not sluice-opt %s --dataflow-mark-positions --dataflow-train='loss=mse accumulate=0' --dataflow-pipeline='schedule=interleaved stages=4 microbatches=3' 2>&1 | FileCheck %s --check-prefix=ODD

// NONE: 0 microbatches is out of range
// RANK: rank 2 of 2 ranks has no stage of a pipeline
// MANY: operators
// KIND: unknown schedule 'zero' of a pipeline, give gpipe, 1f1b or interleaved
// ODD: needs a multiple of 2 microbatches, not 3
func.func @perceptron(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<4x3xf32>
  %0 = dataflow.matmul %x, %a : tensor<4x4xf32>, tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
