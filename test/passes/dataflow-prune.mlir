// RUN: sluice-opt %s --dataflow-prune="parts=2 layers=fc.*" -split-input-file | FileCheck %s

// Blocks that are there lose nothing: rows 0 and 2 with columns 1 and 3, the rest with the rest. Each block reads its own
// rows and weights; its columns go back to where they were.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME: dataflow.pruned = [{layer = "fc1", partitions = 2 : i64, weight_loss = 0.000000e+00 : f64}]
func.func @blocks(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %w = dataflow.constant dense<[[0., 1., 0., 2.], [3., 0., 1., 0.], [0., -4., 0., 1.], [1., 0., 2., 0.]]> : tensor<4x4xf32>
  // CHECK-COUNT-2: dataflow.matmul {{.*}} : tensor<3x2xf32>, tensor<2x2xf32>
  // CHECK: %[[C:.*]] = dataflow.concat {{.*}} -> tensor<3x4xf32>
  // CHECK: %[[Y:.*]] = dataflow.gather %[[C]]
  // CHECK: return %[[Y]]
  %y = dataflow.matmul %x, %w : tensor<3x4xf32>, tensor<4x4xf32> loc("fc1")
  return %y : tensor<3x4xf32>
}

// -----

// A transposed weight and uneven blocks; a layer of another name stays whole.
// CHECK-LABEL: func.func @uneven
// CHECK-SAME: dataflow.pruned = [{layer = "fc2", partitions = 2 : i64, weight_loss = 0.{{[1-5][0-9]*}} : f64}]
func.func @uneven(%x: tensor<2x1x3xf32>) -> tensor<2x1x5xf32> {
  %w = dataflow.constant dense<[[1., 2., 3.], [3., 2., 1.], [1., 1., 1.], [5., 0., 1.], [2., 2., 2.]]> : tensor<5x3xf32>
  %v = dataflow.constant dense<1.0> : tensor<5x5xf32>
  // CHECK: dataflow.matmul {{.*}} transposed : tensor<2x1x2xf32>, tensor<3x2xf32>
  // CHECK: dataflow.matmul {{.*}} transposed : tensor<2x1x1xf32>, tensor<2x1xf32>
  // CHECK: dataflow.matmul {{.*}} : tensor<2x1x5xf32>, tensor<5x5xf32>
  %y = dataflow.matmul %x, %w transposed : tensor<2x1x3xf32>, tensor<5x3xf32> loc("fc2")
  %z = dataflow.matmul %y, %v : tensor<2x1x5xf32>, tensor<5x5xf32> loc("head")
  return %z : tensor<2x1x5xf32>
}
