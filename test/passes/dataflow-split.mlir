// RUN: sluice-opt %s --dataflow-split --dataflow-simplify -split-input-file | FileCheck %s

// A layer by columns: the weight and the bias are cut, what follows takes the parts as they are, one concatenation.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>, %b: tensor<32xf32>) -> tensor<8x32xf32> {
  // CHECK-DAG: %[[W0:.*]] = dataflow.slice %arg1 {{.*}}[0, 0]{{.*}} : tensor<16x32xf32> -> tensor<16x16xf32>
  // CHECK-DAG: %[[W1:.*]] = dataflow.slice %arg1 {{.*}}[0, 16]{{.*}} : tensor<16x32xf32> -> tensor<16x16xf32>
  // CHECK-DAG: %[[P0:.*]] = dataflow.matmul %arg0, %[[W0]] : tensor<8x16xf32>, tensor<16x16xf32>
  // CHECK-DAG: %[[P1:.*]] = dataflow.matmul %arg0, %[[W1]] : tensor<8x16xf32>, tensor<16x16xf32>
  // CHECK-NOT: concat
  // CHECK: %[[B0:.*]] = dataflow.slice %arg2 {{.*}} : tensor<32xf32> -> tensor<16xf32>
  // CHECK: %[[S0:.*]] = dataflow.binary add %[[P0]], %[[B0]]
  // CHECK: %[[S1:.*]] = dataflow.binary add %[[P1]], %{{.*}}
  // CHECK: %[[Y:.*]] = dataflow.concat %[[S0]], %[[S1]] {axis = 1 : i64}
  // CHECK: return %[[Y]]
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"columns", 2>} : tensor<8x16xf32>, tensor<16x32xf32>
  %z = dataflow.binary add %y, %b {dataflow.split = #dataflow.split<"dim 1", 2>} : tensor<8x32xf32>, tensor<32xf32>
  return %z : tensor<8x32xf32>
}

// -----

// Partial sums are added in the parts' order, of half precision in single.
// CHECK-LABEL: func.func @contraction
func.func @contraction(%x: tensor<2x6xf16>, %w: tensor<6x4xf16>) -> tensor<2x4xf16> {
  // CHECK-COUNT-3: dataflow.matmul {{.*}} : tensor<2x2xf16>, tensor<2x4xf16>
  // CHECK-DAG: dataflow.cast {{.*}} : tensor<2x4xf16> -> tensor<2x4xf32>
  // CHECK: %[[S:.*]] = dataflow.binary add %{{.*}}, %{{.*}} : tensor<2x4xf32>
  // CHECK: %[[T:.*]] = dataflow.binary add %[[S]], %{{.*}} : tensor<2x4xf32>
  // CHECK: dataflow.cast %[[T]] {{.*}}-> tensor<2x4xf16>
  %y = dataflow.matmul %x, %w {dataflow.split = #dataflow.split<"contraction", 3>} : tensor<2x6xf16>, tensor<6x4xf16>
  return %y : tensor<2x4xf16>
}

// -----

// Convolutions by output channels, and one that reads them whole as well.
// CHECK-LABEL: func.func @channels
func.func @channels(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) {
  // CHECK-COUNT-2: dataflow.conv {{.*}} -> tensor<1x2x8x8xf32>
  // CHECK: %[[Y:.*]] = dataflow.concat {{.*}}axis = 1
  // CHECK: %[[T:.*]] = dataflow.unary tanh %[[Y]] : tensor<1x4x8x8xf32>
  // CHECK: return %[[Y]], %[[T]]
  %y = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {dataflow.split = #dataflow.split<"output channels", 2>} : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x8x8xf32>
  %t = dataflow.unary tanh %y : tensor<1x4x8x8xf32>
  return %y, %t : tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>
}

// -----

// A greatest value of parts' greatest; nothing marked, nothing changed.
// CHECK-LABEL: func.func @maximum
func.func @maximum(%x: tensor<8x4xf32>) -> tensor<8x1xf32> {
  // CHECK-COUNT-2: dataflow.reduce max {{.*}} : tensor<8x2xf32> -> tensor<8x1xf32>
  // CHECK: dataflow.binary max
  %m = dataflow.reduce max %x axes [1] {dataflow.split = #dataflow.split<"dim 1", 2>, keep_dims = true} : tensor<8x4xf32> -> tensor<8x1xf32>
  return %m : tensor<8x1xf32>
}

// -----

// CHECK-LABEL: func.func @whole
func.func @whole(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: dataflow.unary tanh %arg0 : tensor<8xf32>
  %y = dataflow.unary tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
