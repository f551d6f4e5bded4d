// RUN: sluice-opt %s --exec-attach-target=target=x86-64-v4 --dataflow-emit-kernels | FileCheck %s --implicit-check-not=vpdpbusd --implicit-check-not=tdpbusd
// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s --check-prefix=ALL

// A target without the instructions that panels are made for multiplies their numbers one by one, whatever its vectors.
// CHECK-LABEL: func.func private @quads_body
// CHECK: arith.muli
// ALL-LABEL: func.func private @quads_body
// ALL: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
func.func @quads(%a: tensor<40x128xui8>, %p: tensor<2112xi8>) -> tensor<40x6xi32> attributes {dataflow.kernel} {
  %0 = dataflow.integer_matmul %a, %p panels <dot = quads, columns = 6, segments = 1, length = 128, panel = 16, zeroPoints = false> : (tensor<40x128xui8>, tensor<2112xi8>) -> tensor<40x6xi32>
  return %0 : tensor<40x6xi32>
}

// CHECK-LABEL: func.func private @tiles_body
// CHECK: arith.muli
// ALL-LABEL: func.func private @tiles_body
// ALL: llvm.call_intrinsic "llvm.x86.tdpbusd.internal"
func.func @tiles(%a: tensor<40x128xui8>, %p: tensor<2112xi8>) -> tensor<40x6xi32> attributes {dataflow.kernel} {
  %0 = dataflow.integer_matmul %a, %p panels <dot = tiles, columns = 6, segments = 1, length = 128, panel = 16, zeroPoints = false> : (tensor<40x128xui8>, tensor<2112xi8>) -> tensor<40x6xi32>
  return %0 : tensor<40x6xi32>
}

// CHECK-LABEL: func.func private @pairs_body
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
func.func @pairs(%a: tensor<40x128xui8>, %p: tensor<2112xi8>) -> tensor<40x6xi32> attributes {dataflow.kernel} {
  %0 = dataflow.integer_matmul %a, %p panels <dot = pairs, columns = 6, segments = 1, length = 128, panel = 16, zeroPoints = false> : (tensor<40x128xui8>, tensor<2112xi8>) -> tensor<40x6xi32>
  return %0 : tensor<40x6xi32>
}
