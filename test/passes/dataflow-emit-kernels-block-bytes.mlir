// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s
// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v3 --dataflow-emit-kernels | FileCheck %s --check-prefix=PAIRS

// Rounded rows: eight elements of 4 bits of a column are two products of four bytes, and the sums of a block become
// floats once.
// CHECK-LABEL: func.func private @bytes_body0
// CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi32>
// CHECK: %[[LOW:.*]] = arith.andi
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK: arith.shrui
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
func.func @bytes(%a: tensor<1x80xi8>, %p: tensor<2560xi8>) -> tensor<1x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 64, depth = 64, panel = 32, scale = f32, zeros = none> : (tensor<1x80xi8>, tensor<2560xi8>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// AVX2 adds pairs of products in 16 bits.
// PAIRS-LABEL: func.func private @narrow_body0
// PAIRS-COUNT-8: llvm.call_intrinsic "llvm.x86.avx2.pmadd.ub.sw"
// PAIRS: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
func.func @narrow(%a: tensor<1x80xi8>, %p: tensor<2560xi8>) -> tensor<1x64xf32> attributes {dataflow.kernel} {
  %0 = dataflow.packed_block_matmul %a, %p panels <bits = 4, block = 32, columns = 64, depth = 64, panel = 16, scale = f32, zeros = none> : (tensor<1x80xi8>, tensor<2560xi8>) -> tensor<1x64xf32>
  return %0 : tensor<1x64xf32>
}

// Sixteen elements at a time; the words' even elements come first.
// CHECK-LABEL: func.func private @rows_body0
// CHECK: vector.reduction <maxui>
// CHECK: math.roundeven
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
func.func @rows(%a: tensor<3x64xf32>) -> tensor<3x80xi8> attributes {dataflow.kernel} {
  %0 = dataflow.quantize_blocks %a bits 4 block 32 : (tensor<3x64xf32>) -> tensor<3x80xi8>
  return %0 : tensor<3x80xi8>
}
