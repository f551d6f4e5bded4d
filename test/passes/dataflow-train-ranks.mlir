// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse accumulate=0' | FileCheck %s --check-prefixes=CHECK,SGD
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse accumulate=0 optimizer=adam' | FileCheck %s --check-prefix=ADAM

// Gradients leave as states, and come back as sums of several ranks': the step begins with their update, where there is
// one, and computes with the updated weight. A weight without influence has no gradient.
// CHECK-LABEL: func.func @classifier
// SGD-SAME: -> (tensor<f32> {dataflow.name = "loss"}, tensor<4xf32> {dataflow.updates = "w.gradient"}, tensor<4xf32> {dataflow.updates = "w"})
// SGD: %[[SCALE:.*]] = dataflow.state "optimizer.scale" dense<0.0{{.*}}> : tensor<f64>
// SGD: %[[SUM:.*]] = dataflow.state "w.gradient" dense<0.0{{.*}}> : tensor<4xf32>
// SGD: %[[W:.*]] = dataflow.state "w" trainable
// SGD: %[[ZERO:.*]] = dataflow.constant dense<0.0
// SGD: %[[APPLIED:.*]] = dataflow.compare gt %[[SCALE]], %[[ZERO]]
// SGD: %[[FACTOR:.*]] = dataflow.cast %[[SCALE]] : tensor<f64> -> tensor<f32>
// SGD: %[[MEAN:.*]] = dataflow.binary mul %[[SUM]], %[[FACTOR]]
// SGD: %[[STEP:.*]] = dataflow.binary mul %[[MEAN]]
// SGD: %[[NEXT:.*]] = dataflow.binary sub %[[W]], %[[STEP]]
// SGD: %[[NOW:.*]] = dataflow.select %[[APPLIED]], %[[NEXT]], %[[W]]
// SGD-NOT: %[[W]]{{[^0-9]}}
// SGD: dataflow.binary mul %arg0, %[[NOW]]
// SGD: return %{{.*}}, %{{.*}}, %[[NOW]]

// Only an update counts as a step of the optimizer.
// ADAM-LABEL: func.func @classifier
// ADAM: %[[COUNT:.*]] = dataflow.state "optimizer.step"
// ADAM: %[[APPLIED:.*]] = dataflow.compare gt
// ADAM: %[[MORE:.*]] = dataflow.binary add %[[COUNT]]
// ADAM: dataflow.select %[[APPLIED]], %[[MORE]], %[[COUNT]]
func.func @classifier(%x: tensor<8x4xf32> {dataflow.name = "x"}) -> (tensor<8x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf32>
  %unused = dataflow.state "unused" trainable dense<0.5> : tensor<4xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A weight in half precision has its gradient in f32; the gradient of one weight may be another weight.
// SGD-LABEL: func.func @product
// SGD-SAME: tensor<1xf32> {dataflow.updates = "a.gradient"}
// SGD-SAME: tensor<1xf16> {dataflow.updates = "a"}, tensor<1xf32> {dataflow.updates = "a.residual"}
func.func @product(%x: tensor<1xf16> {dataflow.name = "x"}) -> (tensor<1xf16> {dataflow.name = "y"}) {
  %a = dataflow.state "a" trainable dense<0.5> : tensor<1xf16>
  %b = dataflow.state "b" trainable dense<2.0> : tensor<1xf16>
  %0 = dataflow.binary mul %a, %b : tensor<1xf16>, tensor<1xf16>
  return %0 : tensor<1xf16>
}
