// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// CHECK-LABEL: func.func @states
func.func @states() {
  // CHECK: dataflow.state "fc/weight" trainable dense<5.000000e-01> : tensor<3x4xf32>
  %0 = dataflow.state "fc/weight" trainable dense<0.5> : tensor<3x4xf32>
  // CHECK: dataflow.state "step" dense<0> : tensor<i64>
  %1 = dataflow.state "step" dense<0> : tensor<i64>
  return
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%step: tensor<i64>, %steps: tensor<1xi32>) {
  // CHECK: dataflow.dropout_mask %{{.*}} {keep = 7.500000e-01 : f64, seed = 3 : i64} : (tensor<i64>) -> tensor<4x5xi1>
  %0 = dataflow.dropout_mask %step {keep = 0.75, seed = 3} : (tensor<i64>) -> tensor<4x5xi1>
  // CHECK: dataflow.dropout_mask %{{.*}} : (tensor<1xi32>) -> tensor<i1>
  %1 = dataflow.dropout_mask %steps {keep = 1.0, seed = -1} : (tensor<1xi32>) -> tensor<i1>
  return
}

// CHECK-LABEL: func.func @conv_weight
func.func @conv_weight(%x: tensor<4x4x9x8xf32>, %g: tensor<4x6x5x8xf32>, %series: tensor<2x3x7xf16>, %h: tensor<2x3x3xf16>) {
  // CHECK: dataflow.conv_weight_gradient %{{.*}}, %{{.*}} strides [2, 1] pads_low [1, 2] dilations [1, 2] {groups = 2 : i64} : (tensor<4x4x9x8xf32>, tensor<4x6x5x8xf32>) -> tensor<6x2x3x3xf32>
  %0 = dataflow.conv_weight_gradient %x, %g strides [2, 1] pads_low [1, 2] dilations [1, 2] {groups = 2 : i64} : (tensor<4x4x9x8xf32>, tensor<4x6x5x8xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: dataflow.conv_weight_gradient %{{.*}}, %{{.*}} strides [2] pads_low [-1] dilations [1] : (tensor<2x3x7xf16>, tensor<2x3x3xf16>) -> tensor<3x3x1xf16>
  %1 = dataflow.conv_weight_gradient %series, %h strides [2] pads_low [-1] dilations [1] : (tensor<2x3x7xf16>, tensor<2x3x3xf16>) -> tensor<3x3x1xf16>
  return
}

// CHECK-LABEL: func.func @pool
func.func @pool(%x: tensor<1x2x9x10xf32>, %g: tensor<1x2x4x5xf32>) {
  // CHECK: dataflow.pool_gradient average %{{.*}} kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] {count_include_pad = true} : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  %0 = dataflow.pool_gradient average %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] {count_include_pad = true} : (tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  // CHECK: dataflow.pool_gradient max %{{.*}} saved %{{.*}} kernel [2, 2] strides
  %1 = dataflow.pool_gradient max %g saved %x kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] : (tensor<1x2x4x5xf32>, tensor<1x2x9x10xf32>) -> tensor<1x2x9x10xf32>
  // CHECK: dataflow.pool_gradient lp %{{.*}} saved %{{.*}}, %{{.*}} kernel [2, 2] strides {{.*}} {p = 3 : i64}
  %2 = dataflow.pool_gradient lp %g saved %x, %g kernel [2, 2] strides [2, 2] pads [0, 0] to [0, 0] dilations [1, 1] {p = 3 : i64} : (tensor<1x2x4x5xf32>, tensor<1x2x9x10xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x9x10xf32>
  return
}

// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<4x3x5xf32>, %c: tensor<3xf32>) {
  // CHECK: dataflow.batch_norm_train %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
  %y:3 = dataflow.batch_norm_train %x, %c, %c {epsilon = 1.0e-5} : tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<4x3x5xf32>, tensor<3xf32>, tensor<3xf32>
  return
}
