// What the pass is asked for and cannot be.
// RUN: not sluice-opt %s --dataflow-train='loss=hinge' 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: not sluice-opt %s --dataflow-train='optimizer=rmsprop' 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not sluice-opt %s --dataflow-train='accumulate=-1' 2>&1 | FileCheck %s --check-prefix=ACCUMULATE
// RUN: not sluice-opt %s --dataflow-train='accumulate=2147483648' 2>&1 | FileCheck %s --check-prefix=TOOMANY
// RUN: not sluice-opt %s --dataflow-train='output=z' 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not sluice-opt %s --dataflow-train='axis=2' 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not sluice-opt %s --dataflow-train='loss=output' 2>&1 | FileCheck %s --check-prefix=ELEMENTS

// LOSS: error: 'hinge' is not a loss, use softmax-cross-entropy, mse or output
// OPTIMIZER: error: 'rmsprop' is not an optimizer, use sgd, momentum, adam or adamw
// ACCUMULATE: error: accumulate=-1 is out of range, option 'accumulate' of dataflow-train, give 0 to {{.*}}
// TOOMANY: error: accumulate=2147483648 is out of range, option 'accumulate' of dataflow-train, give 0 to {{.*}}
// OUTPUT: error: the model has no output 'z' for the loss, option '--train of', give 'y'
// AXIS: error: class axis 2 is out of range for an output of rank 2, option '--train axis', give 0 to 1
// ELEMENTS: error: the output that is the loss must have one element and has 32, option '--train loss', name an output of one element
func.func @classifier(%x: tensor<8x4xf32> {dataflow.name = "x"}) -> (tensor<8x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  return %0 : tensor<8x4xf32>
}
