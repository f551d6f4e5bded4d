// RUN: sluice-opt %s --dataflow-simplify | FileCheck %s
// RUN: sluice-opt %s --dataflow-simplify='differentiable=true' | FileCheck %s --check-prefix=KEPT

// Batch normalisation by the batch's own statistics: a multiply and an add, after its mean and variance, which it returns.
// CHECK-LABEL: func.func @by_the_batch
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x3x5xf32>, %[[SCALE:[^:]*]]: tensor<3xf32>, %[[BIAS:[^:]*]]: tensor<3xf32>)
// CHECK: %[[MEAN:.*]] = dataflow.reduce mean %[[X]] axes [0, 2] : tensor<4x3x5xf32> -> tensor<3xf32>
// CHECK: %[[WIDE:.*]] = dataflow.reshape %[[MEAN]] : tensor<3xf32> -> tensor<1x3x1xf32>
// CHECK: %[[CENTERED:.*]] = dataflow.binary sub %[[X]], %[[WIDE]]
// CHECK: %[[SQUARE:.*]] = dataflow.binary mul %[[CENTERED]], %[[CENTERED]]
// CHECK: %[[VARIANCE:.*]] = dataflow.reduce mean %[[SQUARE]] axes [0, 2]
// CHECK: %[[MORE:.*]] = dataflow.binary add %[[VARIANCE]]
// CHECK: %[[DEVIATION:.*]] = dataflow.unary sqrt %[[MORE]]
// CHECK: %[[FACTOR:.*]] = dataflow.binary div %[[SCALE]], %[[DEVIATION]]
// CHECK: %[[SHIFT:.*]] = dataflow.binary mul %[[MEAN]], %[[FACTOR]]
// CHECK: %[[REST:.*]] = dataflow.binary sub %[[BIAS]], %[[SHIFT]]
// CHECK: %[[SCALED:.*]] = dataflow.binary mul %[[X]]
// CHECK: %[[Y:.*]] = dataflow.binary add %[[SCALED]]
// CHECK: return %[[Y]], %[[MEAN]], %[[VARIANCE]]
// KEPT-LABEL: func.func @by_the_batch
// KEPT: %[[Y:.*]], %[[MEAN:.*]], %[[VARIANCE:.*]] = dataflow.batch_norm_train
// KEPT-NEXT: return %[[Y]], %[[MEAN]], %[[VARIANCE]]
func.func @by_the_batch(%x: tensor<4x3x5xf32>, %s: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y:3 = dataflow.batch_norm_train %x, %s, %b {epsilon = 1.0e-5} : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
  return %y#0, %y#1, %y#2 : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
}

// A weight that is trained is no constant: nothing folds into it.
// CHECK-LABEL: func.func @trained_weight
// CHECK: %[[W:.*]] = dataflow.state "w" trainable
// CHECK: %[[P:.*]] = dataflow.matmul %{{.*}}, %[[W]]
// CHECK: dataflow.binary mul %[[P]]
func.func @trained_weight(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = dataflow.state "w" trainable dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<10.0> : tensor<f32>
  %0 = dataflow.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  %1 = dataflow.binary mul %0, %c : tensor<4x2xf32>, tensor<f32>
  return %1 : tensor<4x2xf32>
}
