// Vectors of 512 bits, which is what a module without a target gets. A kernel that loses
// its vectors, or that copies between memories, fails here and not in a benchmark.

// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s --implicit-check-not=memref. --implicit-check-not=llvm.intr.memcpy
// Vectors are as wide as the module's target has them.
// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v3 --dataflow-emit-kernels | FileCheck %s --check-prefix=NARROW

// A register tile of 13 rows and 2 vectors: every step of the contraction is 26 products
// that stay in registers, and nothing is stored before the loop has ended.
// CHECK-LABEL: func.func @matmul(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// One thread runs it: a loop of a million operations is over before another is there.
// CHECK: call @matmul_chunk0(%{{.*}}, %c0{{.*}}, %c2{{.*}}) : (!llvm.ptr, i64, i64) -> ()
// CHECK-LABEL: func.func private @matmul_body0
// CHECK: scf.for {{.*}} iter_args(
// CHECK-NOT: llvm.store
// CHECK-COUNT-26: llvm.intr.fmuladd({{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK-NOT: llvm.store
// CHECK: scf.yield
// CHECK-COUNT-26: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// NARROW-LABEL: func.func private @matmul_body0
// NARROW: llvm.intr.fmuladd({{.*}}) : (vector<8xf32>
func.func @matmul(%a: tensor<64x128xf32>, %b: tensor<128x64xf32>) -> tensor<64x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.matmul %a, %b : tensor<64x128xf32>, tensor<128x64xf32>
  return %0 : tensor<64x64xf32>
}

// A row of 5 pixels by 16 channels: a vector of weights is loaded once for all pixels that
// it meets; at the border one is padding.
// CHECK-LABEL: func.func private @conv_body0
// CHECK: scf.for {{.*}} iter_args(
// CHECK-NOT: llvm.store
// CHECK: %[[W:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-4: llvm.intr.fmuladd(%{{.*}}, %[[W]], %{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK: scf.yield
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
func.func @conv(%x: tensor<1x6x5x128xf32>, %w: tensor<1x1x3x3x128x16xf32>) -> tensor<1x6x5x16xf32> attributes {dataflow.kernel} {
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 16 : i64} : tensor<1x6x5x128xf32>, tensor<1x1x3x3x128x16xf32> -> tensor<1x6x5x16xf32>
  return %0 : tensor<1x6x5x16xf32>
}

// One loop, one load of each operand, one store.
// CHECK-LABEL: func.func private @chain_body0
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1024{{.*}} step %c16
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-NOT: llvm.store
// CHECK-LABEL: func.func private @chain_chunk0
func.func @chain(%x: tensor<64x1024xf32>, %b: tensor<1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.fused (%a0 = %x : tensor<64x1024xf32>, %a1 = %b : tensor<1024xf32>) -> (tensor<64x1024xf32>) {
    %1 = dataflow.binary add %a0, %a1 : tensor<64x1024xf32>, tensor<1024xf32>
    %2 = dataflow.unary relu %1 : tensor<64x1024xf32>
    dataflow.yield %2 : tensor<64x1024xf32>
  }
  return %0 : tensor<64x1024xf32>
}

// Four vectors of sums take turns until the row ends; then they, and halves of vectors, are added.
// CHECK-LABEL: func.func private @reduction_body0
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[a-z0-9]+]] = %{{.*}}, {{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: %[[X:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: arith.addf %[[SUM]], %[[X]] : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
func.func @reduction(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<64x1024xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// A product of 64 times as many has chunks, which the pool hands out: 32 tiles, each long enough to be one.
// CHECK-LABEL: func.func @large_matmul(
// CHECK: %[[BODY:.*]] = constant @large_matmul_chunk0
// CHECK: %[[FUNCTION:.*]] = builtin.unrealized_conversion_cast %[[BODY]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %c32_i64, %c1_i64, %[[FUNCTION]], %{{.*}})
func.func @large_matmul(%a: tensor<256x512xf32>, %b: tensor<512x256xf32>) -> tensor<256x256xf32> attributes {dataflow.kernel} {
  %0 = dataflow.matmul %a, %b : tensor<256x512xf32>, tensor<512x256xf32>
  return %0 : tensor<256x256xf32>
}

// Three chunks of two rows would leave one of two threads with four of the six rows.
// CHECK-LABEL: func.func @few_rows(
// CHECK: llvm.call %{{.*}}(%{{.*}}, %c6_i64, %c1_i64, %{{.*}}, %{{.*}})
func.func @few_rows(%x: tensor<6x6000xf32>) -> tensor<6x6000xf32> attributes {dataflow.kernel} {
  %0 = dataflow.softmax %x {axis = 1 : i64} : tensor<6x6000xf32> -> tensor<6x6000xf32>
  return %0 : tensor<6x6000xf32>
}

// Three walks over a row: its maximum, the exponentials and their sum, the quotients.
// CHECK-LABEL: func.func private @softmax_body0
// CHECK: scf.for {{.*}} -> (vector<16xf32>, {{.*}})
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<16xf32>, {{.*}})
// CHECK: math.exp {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.divf {{.*}} : f32
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-LABEL: func.func private @softmax_chunk0
func.func @softmax(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.softmax %x {axis = 1 : i64} : tensor<64x1024xf32> -> tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}

// Sixteen vectors are turned in registers, in four rounds of shuffles.
// CHECK-LABEL: func.func private @turned_body0
// CHECK-COUNT-16: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: llvm.store {{.*}} : vector<16xf32>, !llvm.ptr
// CHECK-LABEL: func.func private @turned_chunk0
func.func @turned(%x: tensor<64x128xf32>) -> tensor<128x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.transpose %x [1, 0] : tensor<64x128xf32>
  return %0 : tensor<128x64xf32>
}

// Operands that share memory are one argument of the kernel, under the shapes that the
// operator reads.
// CHECK-LABEL: func.func private @views_chunk0
// CHECK: llvm.getelementptr %{{.*}}[0]
// CHECK: llvm.getelementptr %{{.*}}[0]
// CHECK: llvm.getelementptr %{{.*}}[1]
func.func @views(%x: tensor<4x16xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %a = dataflow.reshape %x : tensor<4x16xf32> -> tensor<64xf32>
  %b = dataflow.reshape %x : tensor<4x16xf32> -> tensor<64xf32>
  %0 = dataflow.binary mul %a, %b : tensor<64xf32>, tensor<64xf32>
  return %0 : tensor<64xf32>
}
