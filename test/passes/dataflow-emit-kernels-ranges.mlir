// Kernels know the bounds of symbols and the powers of two that divide them. A kernel of one chunk walks a nest over
// its extents, without divisions. A longer kernel divides its chunk's ends, and walks the items of each row in a loop.
// RUN: sluice-opt %s --dataflow-emit-kernels | FileCheck %s

#small = #dataflow.extents<()[s0, s1] -> (s1, 3, s0), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>
#long = #dataflow.extents<()[s0] -> (s0, 3, 244, 244), <"n" = 1 to 50>>

// CHECK-LABEL: func.func private @small_body0
// CHECK: arith.cmpi sge
// CHECK: llvm.intr.assume
// CHECK: arith.cmpi sle
// CHECK: llvm.intr.assume
// CHECK: arith.andi %{{.*}}, %c31
// CHECK: llvm.intr.assume
// CHECK-NOT: arith.divui
// CHECK: return
func.func @small(%x: tensor<8x3x64xf32, #small>) -> tensor<64x8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, s1, 3), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>> attributes {dataflow.kernel} {
  %0 = dataflow.transpose %x [2, 0, 1] : tensor<8x3x64xf32, #small>
  return %0 : tensor<64x8x3xf32, #dataflow.extents<()[s0, s1] -> (s0, s1, 3), <"height" = 32 to 64 by 32, "batch" = 1 to 8>>>
}

// CHECK-LABEL: func.func private @long_body0
// CHECK: arith.divui
// CHECK: arith.ceildivui
// CHECK: scf.for {{.*}} iter_args(
// CHECK: scf.for
// CHECK-NOT: arith.divui
// CHECK: return
func.func @long(%x: tensor<50x3x244x244xf32, #long>) -> tensor<50x244x244x3xf32, #dataflow.extents<()[s0] -> (s0, 244, 244, 3), <"n" = 1 to 50>>> attributes {dataflow.kernel} {
  %0 = dataflow.transpose %x [0, 2, 3, 1] : tensor<50x3x244x244xf32, #long>
  return %0 : tensor<50x244x244x3xf32, #dataflow.extents<()[s0] -> (s0, 244, 244, 3), <"n" = 1 to 50>>>
}
