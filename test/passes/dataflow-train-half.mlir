// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=adam' | FileCheck %s --check-prefixes=CHECK,ADAM
// RUN: sluice-opt %s --split-input-file --dataflow-train='loss=mse optimizer=momentum accumulate=2' | FileCheck %s --check-prefixes=CHECK,MOMENTUM

// Weights stay in half precision; the loss, the optimizer's states and its arithmetic are in f32, as is what a weight's
// rounding leaves.
// CHECK-LABEL: func.func @half
// CHECK-SAME: tensor<8x4xf16> {dataflow.name = "target"}) -> (tensor<f32> {dataflow.name = "loss"}
// ADAM-SAME: tensor<4xf32> {dataflow.updates = "w.mean"}, tensor<4xf32> {dataflow.updates = "w.square"}, tensor<4xf16> {dataflow.updates = "w"}, tensor<4xf32> {dataflow.updates = "w.residual"}
// MOMENTUM-SAME: tensor<4xf32> {dataflow.updates = "w.momentum"}, tensor<4xf16> {dataflow.updates = "w"}, tensor<4xf32> {dataflow.updates = "w.residual"}, tensor<4xf32> {dataflow.updates = "w.gradient"}
// CHECK: %[[RESIDUAL:.*]] = dataflow.state "w.residual" dense<0.0{{.*}}> : tensor<4xf32>
// CHECK: %[[W:.*]] = dataflow.state "w" trainable dense<5.0{{.*}}> : tensor<4xf16>
// CHECK: %[[WIDE:.*]] = dataflow.cast %[[W]] : tensor<4xf16> -> tensor<4xf32>
// CHECK: %[[P:.*]] = dataflow.binary add %[[WIDE]], %[[RESIDUAL]]
// CHECK: %[[NEXT:.*]] = dataflow.binary sub %[[P]], %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CHECK: %[[ROUNDED:.*]] = dataflow.cast %[[NEXT]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: %[[BACK:.*]] = dataflow.cast %[[ROUNDED]] : tensor<4xf16> -> tensor<4xf32>
// CHECK: dataflow.binary sub %[[NEXT]], %[[BACK]]
func.func @half(%x: tensor<8x4xf16> {dataflow.name = "x"}) -> (tensor<8x4xf16> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf16>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf16>, tensor<4xf16>
  return %0 : tensor<8x4xf16>
}

// -----

// CHECK-LABEL: func.func @single
// CHECK-NOT: residual
// CHECK: return
func.func @single(%x: tensor<8x4xf32> {dataflow.name = "x"}) -> (tensor<8x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4xf32>
  %0 = dataflow.binary mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  return %0 : tensor<8x4xf32>
}
