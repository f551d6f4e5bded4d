// RUN: sluice-opt %s --dataflow-fuse-attention | FileCheck %s

// Scaled by a division, masked, keys as they are stored.
// CHECK-LABEL: func.func @masked
func.func @masked(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x4xf32>, %m: tensor<1x7xf32>) -> tensor<2x5x4xf32> {
  // CHECK-NEXT: dataflow.attention %arg0, %arg1, %arg2 mask %arg3 {divides, scale = 4.000000e+00 : f32}
  // CHECK-NEXT: return
  %c = dataflow.constant dense<4.0> : tensor<f32>
  %0 = dataflow.matmul %q, %k transposed : tensor<2x5x8xf32>, tensor<2x7x8xf32>
  %1 = dataflow.binary div %0, %c : tensor<2x5x7xf32>, tensor<f32>
  %2 = dataflow.binary add %m, %1 : tensor<1x7xf32>, tensor<2x5x7xf32>
  %3 = dataflow.softmax %2 {axis = 2 : i64} : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
  %4 = dataflow.matmul %3, %v : tensor<2x5x7xf32>, tensor<2x7x4xf32>
  return %4 : tensor<2x5x4xf32>
}

// Keys that are transposed already; no mask, no scale.
// CHECK-LABEL: func.func @plain
func.func @plain(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  // CHECK-NEXT: dataflow.attention %arg0, %arg1 transposed, %arg2 : (
  %0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %1 = dataflow.softmax %0 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %2 = dataflow.matmul %1, %v : tensor<5x7xf32>, tensor<7x4xf32>
  return %2 : tensor<5x4xf32>
}

// A product with a scalar on the left.
// CHECK-LABEL: func.func @scaled
func.func @scaled(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  // CHECK: dataflow.attention %arg0, %arg1 transposed, %arg2 {scale = 2.500000e-01 : f32}
  %c = dataflow.constant dense<0.25> : tensor<1x1xf32>
  %0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %1 = dataflow.binary mul %c, %0 : tensor<1x1xf32>, tensor<5x7xf32>
  %2 = dataflow.softmax %1 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %3 = dataflow.matmul %2, %v : tensor<5x7xf32>, tensor<7x4xf32>
  return %3 : tensor<5x4xf32>
}

// What must stay: scores that are read elsewhere, another axis, a logarithm, a number divided by the scores, a query
// that broadcasts, rows beyond the scratch, other types, factors that are not constant.
// CHECK-LABEL: func.func @stays
func.func @stays(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %qs: tensor<1x5x8xf32>, %ks: tensor<2x8x7xf32>, %vs: tensor<2x7x4xf32>, %many: tensor<8x8193xf32>, %values: tensor<8193x4xf32>, %h: tensor<5x8xf16>, %kh: tensor<8x7xf16>, %vh: tensor<7x4xf16>, %factor: tensor<1xf32>)
    -> (tensor<5x7xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<2x5x4xf32>, tensor<5x4xf32>, tensor<5x4xf16>, tensor<5x4xf32>) {
  // CHECK-NOT: dataflow.attention
  // CHECK: return
  %c = dataflow.constant dense<4.0> : tensor<1xf32>
  %a0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %a1 = dataflow.softmax %a0 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %a2 = dataflow.matmul %a1, %v : tensor<5x7xf32>, tensor<7x4xf32>
  %b0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %b1 = dataflow.softmax %b0 {axis = 0 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %b2 = dataflow.matmul %b1, %v : tensor<5x7xf32>, tensor<7x4xf32>
  %d0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %d1 = dataflow.softmax %d0 {axis = 1 : i64, log = true} : tensor<5x7xf32> -> tensor<5x7xf32>
  %d2 = dataflow.matmul %d1, %v : tensor<5x7xf32>, tensor<7x4xf32>
  %e0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %e1 = dataflow.binary div %c, %e0 : tensor<1xf32>, tensor<5x7xf32>
  %e2 = dataflow.softmax %e1 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %e3 = dataflow.matmul %e2, %v : tensor<5x7xf32>, tensor<7x4xf32>
  %f0 = dataflow.matmul %qs, %ks : tensor<1x5x8xf32>, tensor<2x8x7xf32>
  %f1 = dataflow.softmax %f0 {axis = 2 : i64} : tensor<2x5x7xf32> -> tensor<2x5x7xf32>
  %f2 = dataflow.matmul %f1, %vs : tensor<2x5x7xf32>, tensor<2x7x4xf32>
  %g0 = dataflow.matmul %q, %many : tensor<5x8xf32>, tensor<8x8193xf32>
  %g1 = dataflow.softmax %g0 {axis = 1 : i64} : tensor<5x8193xf32> -> tensor<5x8193xf32>
  %g2 = dataflow.matmul %g1, %values : tensor<5x8193xf32>, tensor<8193x4xf32>
  %h0 = dataflow.matmul %h, %kh : tensor<5x8xf16>, tensor<8x7xf16>
  %h1 = dataflow.softmax %h0 {axis = 1 : i64} : tensor<5x7xf16> -> tensor<5x7xf16>
  %h2 = dataflow.matmul %h1, %vh : tensor<5x7xf16>, tensor<7x4xf16>
  %i0 = dataflow.matmul %q, %k : tensor<5x8xf32>, tensor<8x7xf32>
  %i1 = dataflow.binary mul %i0, %factor : tensor<5x7xf32>, tensor<1xf32>
  %i2 = dataflow.softmax %i1 {axis = 1 : i64} : tensor<5x7xf32> -> tensor<5x7xf32>
  %i3 = dataflow.matmul %i2, %v : tensor<5x7xf32>, tensor<7x4xf32>
  return %a0, %a2, %b2, %d2, %e3, %f2, %g2, %h2, %i3 : tensor<5x7xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>, tensor<2x5x4xf32>, tensor<5x4xf32>, tensor<5x4xf16>, tensor<5x4xf32>
}
