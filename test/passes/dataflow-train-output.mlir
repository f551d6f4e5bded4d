// RUN: sluice-opt %s --dataflow-train='loss=output output=cost' | FileCheck %s
// RUN: sluice-opt %s --dataflow-train='loss=softmax-cross-entropy output=y axis=0' | FileCheck %s --check-prefix=AXIS
// RUN: sluice-opt %s --dataflow-train='loss=softmax-cross-entropy output=y ignore-index=-1' | FileCheck %s --check-prefix=IGNORE

// A result of one number is the loss as it is; no input is added.
// CHECK: func.func @main(%{{.*}}: tensor<4x3xf32> {dataflow.name = "x"}) -> (tensor<f32> {dataflow.name = "loss"}, tensor<4x1xf32> {dataflow.updates = "w"})
// CHECK: %[[COST:.*]] = dataflow.reduce sum_square
// CHECK: %[[LOSS:.*]] = dataflow.reshape %[[COST]] : tensor<1x1xf32> -> tensor<f32>
// CHECK: return %[[LOSS]],

// AXIS: %{{.*}}: tensor<3xi64> {dataflow.name = "labels", dataflow.range = array<i64: 0, 3, 0>}
// AXIS: dataflow.softmax %{{.*}} {axis = 0 : i64, log = true} : tensor<4x3xf32>

// A label to ignore is allowed, and its position adds nothing to the sum and to its count.
// IGNORE: %[[LABELS:[a-z0-9]+]]: tensor<4xi64> {dataflow.name = "labels", dataflow.range = array<i64: 0, 2, -1>}
// IGNORE: %[[IGNORED:.*]] = dataflow.compare eq %[[LABELS]]
// IGNORE: %[[SAFE:.*]] = dataflow.select %[[IGNORED]], %{{.*}}, %[[LABELS]]
// IGNORE: %[[AT:.*]] = dataflow.reshape %[[SAFE]]
// IGNORE: %[[PICKED:.*]] = dataflow.gather_elements %{{.*}}, %[[AT]]
// IGNORE: %[[KEPT:.*]] = dataflow.select %{{.*}}, %{{.*}}, %[[PICKED]]
// IGNORE: %[[SUM:.*]] = dataflow.reduce sum %[[KEPT]]
// IGNORE: %[[COUNT:.*]] = dataflow.reduce sum
// IGNORE: %[[DIVISOR:.*]] = dataflow.binary max %[[COUNT]]
// IGNORE: dataflow.binary div %[[SUM]], %[[DIVISOR]]
func.func @main(%x: tensor<4x3xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}, tensor<1x1xf32> {dataflow.name = "cost"}) {
  %w = dataflow.state "w" trainable dense<0.5> : tensor<4x1xf32>
  %0 = dataflow.binary mul %x, %w : tensor<4x3xf32>, tensor<4x1xf32>
  %1 = dataflow.reduce sum_square %0 axes [0, 1] {keep_dims = true} : tensor<4x3xf32> -> tensor<1x1xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<1x1xf32>
}
