// RUN: sluice-opt %s --split-input-file --dataflow-train --canonicalize | FileCheck %s --check-prefixes=ENTROPY,SGD
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse lr=0.5 weight-decay=0.25' | FileCheck %s --check-prefixes=MSE,DECAY
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=momentum momentum=0.75' | FileCheck %s --check-prefix=MOMENTUM
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=momentum nesterov=true' | FileCheck %s --check-prefix=NESTEROV
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=adam epsilon=0.125' | FileCheck %s --check-prefix=ADAM
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=adamw epsilon=0.125 weight-decay=0.25' | FileCheck %s --check-prefix=ADAMW
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse accumulate=4' | FileCheck %s --check-prefix=ACCUMULATE
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse accumulate=4 optimizer=adam epsilon=0.125' | FileCheck %s --check-prefix=ADAM4
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse' -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s --check-prefix=NAMES

// The labels are a new input, the loss takes the place of the model's result, and the weight's new value follows.
// ENTROPY-LABEL: func.func @classifier
// ENTROPY-SAME: (%[[X:.*]]: tensor<8x3xf32> {dataflow.name = "x"}, %[[LABELS:.*]]: tensor<8xi64> {dataflow.name = "labels", dataflow.range = array<i64: 0, 3, 0>})
// ENTROPY-SAME: -> (tensor<f32> {dataflow.name = "loss"}, tensor<3x4xf32> {dataflow.updates = "w"})
// ENTROPY: %[[W:.*]] = dataflow.state "w" trainable
// ENTROPY: %[[LOGITS:.*]] = dataflow.matmul %[[X]], %[[W]]
// ENTROPY: %[[LOGS:.*]] = dataflow.softmax %[[LOGITS]] {axis = 1 : i64, log = true}
// ENTROPY: %[[AT:.*]] = dataflow.reshape %[[LABELS]] : tensor<8xi64> -> tensor<8x1xi64>
// ENTROPY: %[[PICKED:.*]] = dataflow.gather_elements %[[LOGS]], %[[AT]] {axis = 1 : i64}
// ENTROPY: %[[MEAN:.*]] = dataflow.reduce mean %[[PICKED]] axes [0, 1]
// ENTROPY: %[[LOSS:.*]] = dataflow.unary neg %[[MEAN]]
// ENTROPY: %[[G:.*]] = dataflow.matmul %[[X]] transposed
// SGD: %[[STEP:.*]] = dataflow.binary mul %[[G]], %{{.*}} : tensor<3x4xf32>, tensor<f32>
// SGD: %[[NEXT:.*]] = dataflow.binary sub %[[W]], %[[STEP]]
// SGD: return %[[LOSS]], %[[NEXT]] : tensor<f32>, tensor<3x4xf32>

// MSE-LABEL: func.func @classifier
// MSE-SAME: "x"}, %[[TARGET:.*]]: tensor<8x4xf32> {dataflow.name = "target"})
// MSE: %[[W:.*]] = dataflow.state "w"
// MSE: %[[Y:.*]] = dataflow.matmul
// MSE: %[[D:.*]] = dataflow.binary sub %[[Y]], %[[TARGET]]
// MSE: %[[SQUARE:.*]] = dataflow.binary mul %[[D]], %[[D]]
// MSE: %[[LOSS:.*]] = dataflow.reduce mean %[[SQUARE]] axes [0, 1]
// MSE: %[[G:.*]] = dataflow.matmul
// DECAY: %[[QUARTER:.*]] = dataflow.constant dense<2.500000e-01>
// DECAY: %[[SHARE:.*]] = dataflow.binary mul %[[W]], %[[QUARTER]]
// DECAY: %[[DECAYED:.*]] = dataflow.binary add %[[G]], %[[SHARE]]
// DECAY: %[[LR:.*]] = dataflow.constant dense<5.000000e-01>
// DECAY: %[[STEP:.*]] = dataflow.binary mul %[[DECAYED]], %[[LR]]
// DECAY: dataflow.binary sub %[[W]], %[[STEP]]
// MSE: return %[[LOSS]],

// The optimizer's own states begin as zeros.
// MOMENTUM-LABEL: func.func @classifier
// MOMENTUM: {dataflow.updates = "w.momentum"}, {{.*}} {dataflow.updates = "w"}
// MOMENTUM: %[[V:.*]] = dataflow.state "w.momentum" dense<0.000000e+00> : tensor<3x4xf32>
// MOMENTUM: %[[W:.*]] = dataflow.state "w" trainable
// MOMENTUM: %[[G:.*]] = dataflow.matmul %{{.*}} transposed
// MOMENTUM: %[[SHARE:.*]] = dataflow.constant dense<7.500000e-01>
// MOMENTUM: %[[KEPT:.*]] = dataflow.binary mul %[[V]], %[[SHARE]]
// MOMENTUM: %[[NEXT:.*]] = dataflow.binary add %[[KEPT]], %[[G]]
// MOMENTUM: %[[STEP:.*]] = dataflow.binary mul %[[NEXT]]
// MOMENTUM: %[[W_NEXT:.*]] = dataflow.binary sub %[[W]], %[[STEP]]
// MOMENTUM: return %{{.*}}, %[[NEXT]], %[[W_NEXT]]

// NESTEROV: %[[G:.*]] = dataflow.matmul %{{.*}} transposed
// NESTEROV: %[[NEXT:.*]] = dataflow.binary add %{{.*}}, %[[G]]
// NESTEROV: %[[AHEAD:.*]] = dataflow.binary mul %[[NEXT]]
// NESTEROV: %[[LOOK:.*]] = dataflow.binary add %[[G]], %[[AHEAD]]
// NESTEROV: dataflow.binary mul %[[LOOK]]

// Kingma & Ba, algorithm 1.
// ADAM: {dataflow.updates = "optimizer.step"}, {{.*}}"w.mean"}, {{.*}}"w.square"}, {{.*}}"w"})
// ADAM-DAG: %[[T0:.*]] = dataflow.state "optimizer.step" dense<0> : tensor<i64>
// ADAM-DAG: %[[M0:.*]] = dataflow.state "w.mean" dense<0.0
// ADAM-DAG: %[[V0:.*]] = dataflow.state "w.square" dense<0.0
// ADAM-DAG: %[[W:.*]] = dataflow.state "w" trainable
// ADAM: %[[T:.*]] = dataflow.binary add %[[T0]]
// ADAM: %[[COUNT:.*]] = dataflow.cast %[[T]] : tensor<i64> -> tensor<f32>
// ADAM: %[[G:.*]] = dataflow.matmul %{{.*}} transposed
// ADAM: %[[G1:.*]] = dataflow.binary mul %[[G]], %{{.*}} : tensor<3x4xf32>, tensor<f32>
// ADAM: %[[KEPT:.*]] = dataflow.binary mul %[[M0]]
// ADAM: %[[M:.*]] = dataflow.binary add %[[KEPT]], %[[G1]]
// ADAM: %[[GG:.*]] = dataflow.binary mul %[[G]], %[[G]]
// ADAM: %[[G2:.*]] = dataflow.binary mul %[[GG]]
// ADAM: %[[KEPT2:.*]] = dataflow.binary mul %[[V0]]
// ADAM: %[[V:.*]] = dataflow.binary add %[[KEPT2]], %[[G2]]
// ADAM: dataflow.binary pow %{{.*}}, %[[COUNT]]
// ADAM: %[[DEVIATION:.*]] = dataflow.unary sqrt
// ADAM: %[[EPSILON:.*]] = dataflow.constant dense<1.250000e-01>
// ADAM: %[[OVER:.*]] = dataflow.binary add %[[DEVIATION]], %[[EPSILON]]
// ADAM: dataflow.binary pow %{{.*}}, %[[COUNT]]
// ADAM: %[[MEAN:.*]] = dataflow.binary div %[[M]]
// ADAM: %[[RATIO:.*]] = dataflow.binary div %[[MEAN]], %[[OVER]]
// ADAM: %[[STEP:.*]] = dataflow.binary mul %[[RATIO]]
// ADAM: %[[NEXT:.*]] = dataflow.binary sub %[[W]], %[[STEP]]
// ADAM: return %{{.*}}, %[[T]], %[[M]], %[[V]], %[[NEXT]]

// The weight itself decays, not through its gradient.
// ADAMW: %[[W:.*]] = dataflow.state "w" trainable
// ADAMW: %[[G:.*]] = dataflow.matmul %{{.*}} transposed
// ADAMW-NOT: dataflow.binary add %[[G]]
// ADAMW: %[[RATIO:.*]] = dataflow.binary div %{{.*}}, %{{.*}} : tensor<3x4xf32>, tensor<3x4xf32>
// ADAMW: %[[FADE:.*]] = dataflow.binary mul %[[W]]
// ADAMW: dataflow.binary add %[[RATIO]], %[[FADE]]

// Every fourth step applies the mean gradient and begins anew; the others keep the weight as it is.
// ACCUMULATE: "optimizer.step"}, {{.*}}"w"}, {{.*}}"w.gradient"})
// ACCUMULATE: %[[SUM:.*]] = dataflow.state "w.gradient" dense<0.0
// ACCUMULATE: %[[T0:.*]] = dataflow.state "optimizer.step"
// ACCUMULATE: %[[W:.*]] = dataflow.state "w" trainable
// ACCUMULATE: %[[T:.*]] = dataflow.binary add %[[T0]]
// ACCUMULATE: %[[REST:.*]] = dataflow.binary mod %[[T]]
// ACCUMULATE: %[[APPLIES:.*]] = dataflow.compare eq %[[REST]]
// ACCUMULATE: %[[G:.*]] = dataflow.matmul %{{.*}} transposed
// ACCUMULATE: %[[TOTAL:.*]] = dataflow.binary add %[[SUM]], %[[G]]
// ACCUMULATE: %[[QUARTER:.*]] = dataflow.constant dense<2.500000e-01>
// ACCUMULATE: dataflow.binary mul %[[TOTAL]], %[[QUARTER]]
// ACCUMULATE: %[[STEPPED:.*]] = dataflow.binary sub %[[W]]
// ACCUMULATE: %[[NEXT:.*]] = dataflow.select %[[APPLIES]], %[[STEPPED]], %[[W]]
// ACCUMULATE: %[[LEFT:.*]] = dataflow.select %[[APPLIES]], %{{.*}}, %[[TOTAL]]
// ACCUMULATE: return %{{.*}}, %[[T]], %[[NEXT]], %[[LEFT]]

// Adam counts updates, not steps, and its means wait too.
// ADAM4: %[[T:.*]] = dataflow.binary add
// ADAM4: %[[APPLIES:.*]] = dataflow.compare eq
// ADAM4: %[[UPDATES:.*]] = dataflow.binary div %[[T]]
// ADAM4: dataflow.cast %[[UPDATES]] : tensor<i64> -> tensor<f32>
// ADAM4-COUNT-4: dataflow.select %[[APPLIES]]

// NAMES-LABEL: func.func @classifier
// NAMES: dataflow.matmul {{.*}} loc("classify")
// NAMES: dataflow.reduce mean {{.*}} loc("loss")
// NAMES: dataflow.matmul {{.*}} loc("classify.gradient")
// NAMES: dataflow.binary sub {{.*}} loc("w.update")
func.func @classifier(%x: tensor<8x3xf32> {dataflow.name = "x"}) -> (tensor<8x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x4xf32>
  %0 = dataflow.matmul %x, %w : tensor<8x3xf32>, tensor<3x4xf32> loc("classify")
  return %0 : tensor<8x4xf32>
}

// -----

// A softmax at the end is part of the loss; it is computed once, as a logarithm. Classes of images are dimension 1, and
// a sum over them is not taken in half precision. An input that is called "labels" keeps its name.
// ENTROPY-LABEL: func.func @segmenter
// ENTROPY-SAME: %{{.*}}: tensor<2x3x4x4xf16> {dataflow.name = "labels"}, %[[LABELS:.*]]: tensor<2x4x4xi64> {dataflow.name = "labels_", dataflow.range = array<i64: 0, 2, 0>})
// ENTROPY-SAME: -> (tensor<f32> {dataflow.name = "loss"}, tensor<3x1x1xf16> {dataflow.updates = "w"}, tensor<3x1x1xf32> {dataflow.updates = "w.residual"})
// ENTROPY: %[[Y:.*]] = dataflow.binary mul
// ENTROPY: %[[WIDE:.*]] = dataflow.cast %[[Y]] : tensor<2x3x4x4xf16> -> tensor<2x3x4x4xf32>
// ENTROPY: dataflow.softmax %[[WIDE]] {axis = 1 : i64, log = true}
// ENTROPY-NOT: dataflow.softmax
// ENTROPY: return
func.func @segmenter(%x: tensor<2x3x4x4xf16> {dataflow.name = "labels"}) -> (tensor<2x3x4x4xf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<3x1x1xf16>
  %0 = dataflow.binary mul %x, %w : tensor<2x3x4x4xf16>, tensor<3x1x1xf16>
  %1 = dataflow.softmax %0 {axis = 1 : i64} : tensor<2x3x4x4xf16> -> tensor<2x3x4x4xf16>
  return %1 : tensor<2x3x4x4xf16>
}

// -----

// What the model updates itself stays; a weight without influence on the loss, and one not trainable, get no update.
// A weight that has the name of an optimizer's state keeps it.
// MOMENTUM-LABEL: func.func @more_states
// MOMENTUM: "running"}, {{.*}}"w.momentum_"}, {{.*}}"w"})
// MOMENTUM: dataflow.state "w.momentum_" dense<0.0
// MOMENTUM: return
// MSE-LABEL: func.func @more_states
// MSE: -> (tensor<f32> {dataflow.name = "loss"}, tensor<4xf32> {dataflow.updates = "running"}, tensor<4xf32> {dataflow.updates = "w"})
func.func @more_states(%x: tensor<2x4xf32> {dataflow.name = "x"}) -> (tensor<2x4xf32> {dataflow.name = "y"}, tensor<4xf32> {dataflow.updates = "running"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf32>
  %idle = dataflow.state "idle" trainable dense<0.5> : tensor<4xf32>
  %fixed = dataflow.state "w.momentum" dense<0.5> : tensor<4xf32>
  %running = dataflow.state "running" dense<0.0> : tensor<4xf32>
  %0 = dataflow.binary mul %x, %w : tensor<2x4xf32>, tensor<4xf32>
  %1 = dataflow.binary add %0, %fixed : tensor<2x4xf32>, tensor<4xf32>
  %2 = dataflow.binary add %running, %fixed : tensor<4xf32>, tensor<4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<4xf32>
}
