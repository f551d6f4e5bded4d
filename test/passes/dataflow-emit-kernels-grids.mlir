// Kernels for a GPU: functions of one thread, in the device's module.

// RUN: sluice-opt %s --dataflow-emit-kernels=form=grids | FileCheck %s --implicit-check-not=memref. --implicit-check-not=llvm.alloca
// RUN: sluice-opt %s --dataflow-emit-kernels='form=grids precision=tf32' | FileCheck %s --check-prefix=ROUNDED

// CHECK: func.func @matmul(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> i32
// CHECK: llvm.mlir.addressof @matmul_grid0
// CHECK: gpu.module @device

// Tiles of both operands are in shared memory; a thread reads them as vectors and keeps
// its sums in registers.
// CHECK-LABEL: gpu.func @matmul_grid0
// CHECK-SAME: known_grid_size = array<i32: 4, 1, 1>
// CHECK: gpu.barrier
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK-NOT: llvm.store
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<2xf32>
// CHECK-COUNT-16: math.fma {{.*}} : f32
// CHECK: scf.yield
// With tensor cores a warp makes its part of the product.
// ROUNDED-LABEL: gpu.func @matmul_grid0
// ROUNDED: nvvm.mma.sync
func.func @matmul(%a: tensor<64x128xf32>, %b: tensor<128x64xf32>) -> tensor<64x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.matmul %a, %b : tensor<64x128xf32>, tensor<128x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: gpu.func @conv_grid0
// CHECK: gpu.barrier
// CHECK: scf.for {{.*}} -> (f32, f32)
// CHECK-COUNT-2: llvm.load {{.*}} -> vector<4xf32>
// CHECK: math.fma {{.*}} : f32
func.func @conv(%x: tensor<1x6x5x128xf32>, %w: tensor<1x1x3x3x128x16xf32>) -> tensor<1x6x5x16xf32> attributes {dataflow.kernel} {
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>, packed_channels = 16 : i64} : tensor<1x6x5x128xf32>, tensor<1x1x3x3x128x16xf32> -> tensor<1x6x5x16xf32>
  return %0 : tensor<1x6x5x16xf32>
}

// A thread has 4 elements: loads and stores of 16 bytes.
// CHECK-LABEL: gpu.func @chain_grid0
// CHECK-SAME: known_grid_size = array<i32: 64, 1, 1>
// CHECK-NOT: dataflow.shared
// CHECK-COUNT-2: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
func.func @chain(%x: tensor<64x1024xf32>, %b: tensor<1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.fused (%a0 = %x : tensor<64x1024xf32>, %a1 = %b : tensor<1024xf32>) -> (tensor<64x1024xf32>) {
    %1 = dataflow.binary add %a0, %a1 : tensor<64x1024xf32>, tensor<1024xf32>
    %2 = dataflow.unary relu %1 : tensor<64x1024xf32>
    dataflow.yield %2 : tensor<64x1024xf32>
  }
  return %0 : tensor<64x1024xf32>
}

// A warp shares a row and joins its sums without shared memory.
// CHECK-LABEL: gpu.func @reduction_grid0
// CHECK-SAME: known_grid_size = array<i32: 8, 1, 1>
// CHECK-NOT: dataflow.shared
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-COUNT-5: gpu.shuffle xor
func.func @reduction(%x: tensor<64x1024xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.reduce sum %x axes [1] : tensor<64x1024xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// CHECK-LABEL: gpu.func @softmax_grid0
// CHECK: arith.maximumf
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: math.exp
// CHECK-COUNT-5: gpu.shuffle xor
func.func @softmax(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> attributes {dataflow.kernel} {
  %0 = dataflow.softmax %x {axis = 1 : i64} : tensor<64x1024xf32> -> tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}

// The operator's device says which form its kernel has.
// CHECK-LABEL: gpu.func @placed_grid0
func.func @placed(%x: tensor<64xf32>) -> tensor<64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.unary tanh %x {dataflow.device = #dataflow.device<"gpu0", grids>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
