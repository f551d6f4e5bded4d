// Grids of extents that a step gives: the entry computes them, threads have them as arguments.

// RUN: sluice-opt %s --dataflow-emit-kernels=form=grids | FileCheck %s --implicit-check-not=memref.

#rows = #dataflow.extents<()[s0] -> (s0, 100), <"n" = 0 to 37>>
#product = #dataflow.extents<()[s0] -> (s0, 64), <"n" = 0 to 37>>
#line = #dataflow.extents<()[s0] -> (s0), <"n" = 0 to 37>>
#even = #dataflow.extents<()[s0] -> (s0), <"n" = 8 to 64 by 8>>
#long = #dataflow.extents<()[s0] -> (3, s0), <"n" = 0 to 2000>>
#image = #dataflow.extents<()[s0] -> (s0, 8, 16, 16), <"n" = 1 to 4>>

// The number of blocks comes with the launch: 25 runs of 4 elements a row, 256 threads a block. The arguments are the
// tensors' addresses, then the number of all runs.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[ENV:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr)
// CHECK: %[[N:.*]] = arith.index_cast
// CHECK: %[[RUNS:.*]] = arith.muli %[[N]], %c25
// CHECK: %[[SHIFTED:.*]] = arith.shrsi
// CHECK: llvm.getelementptr %[[ENV]][104]
// CHECK: llvm.mlir.addressof @chain_grid0
// CHECK: %[[BLOCKS:.*]] = arith.index_cast %[[SHIFTED]]
// CHECK: %[[ALL:.*]] = llvm.alloca %c4_i64 x !llvm.ptr
// CHECK: %[[WORD:.*]] = arith.index_cast %[[RUNS]] : index to i64
// CHECK: llvm.getelementptr %[[ALL]][3]
// CHECK-NEXT: llvm.store %[[WORD]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[BLOCKS]], %[[ALL]])
func.func @chain(%x: tensor<37x100xf32, #rows>, %b: tensor<100xf32>) -> tensor<37x100xf32, #rows> attributes {dataflow.kernel} {
  %0 = dataflow.binary add %x, %b : tensor<37x100xf32, #rows>, tensor<100xf32>
  return %0 : tensor<37x100xf32, #rows>
}

// Its threads move 16 bytes at once, as rows are multiples of 4 elements, and those behind the end do nothing.
// CHECK-LABEL: gpu.func @chain_grid0
// CHECK-SAME: %arg3: i64) kernel
// CHECK-NOT: known_grid_size
// CHECK: %[[END:.*]] = arith.index_cast %arg3
// CHECK: gpu.block_id x upper_bound 4
// CHECK: arith.cmpi ult, %{{.*}}, %[[END]]
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>

// A line of any length: its last run, of one element to three, is moved one by one.
// CHECK-LABEL: gpu.func @line_grid0
// CHECK: arith.cmpi ule
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
func.func @line(%x: tensor<37xf32, #line>) -> tensor<37xf32, #line> attributes {dataflow.kernel} {
  %0 = dataflow.unary neg %x : tensor<37xf32, #line>
  return %0 : tensor<37xf32, #line>
}

// A range in steps of 8 has no such rest.
// CHECK-LABEL: gpu.func @even_grid0
// CHECK: llvm.store {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK-NOT: scf.for
// CHECK: gpu.return
func.func @even(%x: tensor<64xf32, #even>) -> tensor<64xf32, #even> attributes {dataflow.kernel} {
  %0 = dataflow.unary neg %x : tensor<64xf32, #even>
  return %0 : tensor<64xf32, #even>
}

// Tiles have constant sides. Rows outside of the matrix are read at its last one, and not stored.
// CHECK-LABEL: gpu.func @product_grid0
// CHECK-SAME: %arg3: i64, %arg4: i64) kernel
// CHECK-DAG: %[[ROWS:.*]] = arith.index_cast %arg3 : i64 to index
// CHECK-DAG: %[[LAST:.*]] = arith.index_cast %arg4 : i64 to index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[ROW:.*]], %[[ROWS]]
// CHECK: arith.select %[[IN]], %[[ROW]], %[[LAST]]
// CHECK-COUNT-4: math.fma
// CHECK: arith.cmpi ult, %{{.*}}, %[[ROWS]]
// CHECK-NEXT: scf.if
func.func @product(%x: tensor<37x100xf32, #rows>, %b: tensor<100x64xf32>) -> tensor<37x64xf32, #product> attributes {dataflow.kernel} {
  %0 = dataflow.matmul %x, %b : tensor<37x100xf32, #rows>, tensor<100x64xf32>
  return %0 : tensor<37x64xf32, #product>
}

// The number of rows is constant, and so is the grid; their length is the step's. All sums have one order, that of the
// team which is best at the upper bound.
// CHECK-LABEL: gpu.func @softmax_grid0
// CHECK-SAME: known_grid_size = array<i32: 3, 1, 1>
// CHECK: scf.for
// CHECK: gpu.shuffle xor
func.func @softmax(%x: tensor<3x2000xf32, #long>) -> tensor<3x2000xf32, #long> attributes {dataflow.kernel} {
  %0 = dataflow.softmax %x {axis = 1 : i64} : tensor<3x2000xf32, #long> -> tensor<3x2000xf32, #long>
  return %0 : tensor<3x2000xf32, #long>
}

// A library gets the sizes of the step: 20 numbers of a convolution, of which the batch is the fourth.
// CHECK-LABEL: func.func @library(
// CHECK: %[[IMAGES:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[SETTINGS:.*]] = llvm.alloca %c20_i64 x i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[SETTINGS]][3]
// CHECK-NEXT: %[[BATCH:.*]] = arith.index_cast %[[IMAGES]] : index to i64
// CHECK-NEXT: llvm.store %[[BATCH]], %[[AT]]
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[SETTINGS]], %c160_i64)
func.func @library(%x: tensor<4x8x16x16xf32, #image>, %w: tensor<8x8x3x3xf32>) -> tensor<4x8x16x16xf32, #image> attributes {dataflow.kernel} {
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {library = 4194304 : i64} : tensor<4x8x16x16xf32, #image>, tensor<8x8x3x3xf32> -> tensor<4x8x16x16xf32, #image>
  return %0 : tensor<4x8x16x16xf32, #image>
}
