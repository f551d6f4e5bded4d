// RUN: sluice-opt %s --dataflow-prune="parts=4 layers=fc" -split-input-file -verify-diagnostics

// expected-error @unknown {{no layer's name matches 'fc', the layers are head, give a regular expression that matches whole names}}
func.func @names(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = dataflow.constant dense<1.0> : tensor<4x4xf32>
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> loc("head")
  return %y : tensor<3x4xf32>
}

// -----

// expected-error @unknown {{no layer's name matches 'fc', the model has no fully connected layers of constant weights}}
func.func @weights(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<3x4xf32> {
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> loc("fc")
  return %y : tensor<3x4xf32>
}

// -----

// expected-error @unknown {{layer 'fc': 4 partitions are too many for 4 inputs and 3 outputs, because each partition needs an input and an output of its own, use 3 or fewer}}
func.func @small(%x: tensor<3x4xf32>) -> tensor<3x3xf32> {
  %w = dataflow.constant dense<1.0> : tensor<4x3xf32>
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x3xf32> loc("fc")
  return %y : tensor<3x3xf32>
}

// -----

// expected-error @unknown {{layer 'fc': pruning needs 32-bit floats and an input that is not transposed, leave this layer out of --layers}}
func.func @half(%x: tensor<3x4xf16>) -> tensor<3x4xf16> {
  %w = dataflow.constant dense<1.0> : tensor<4x4xf16>
  %y = dataflow.matmul %x, %w : tensor<3x4xf16>, tensor<4x4xf16> loc("fc")
  return %y : tensor<3x4xf16>
}

// -----

// expected-error @unknown {{layer 'fc': a weight of the layer is not finite}}
func.func @infinite(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = dataflow.constant dense<0x7F800000> : tensor<4x4xf32>
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> loc("fc")
  return %y : tensor<3x4xf32>
}
