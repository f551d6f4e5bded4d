// RUN: sluice-opt %s --dataflow-assign-layout='dot=quads' | FileCheck %s
// RUN: sluice-opt %s --dataflow-assign-layout='lanes=8 registers=16 dot=pairs' | FileCheck %s --check-prefix=PAIRS
// RUN: sluice-opt %s --dataflow-assign-layout='dot=tiles' | FileCheck %s --check-prefix=TILES
// RUN: sluice-opt %s --dataflow-assign-layout='dot=none' | FileCheck %s --check-prefix=NONE
// RUN: not sluice-opt %s --dataflow-assign-layout='dot=triples' 2>&1 | FileCheck %s --check-prefix=WRONG

// NONE-NOT: panels
// WRONG: 'triples' is unknown, option 'dot' of dataflow-assign-layout, use none, plain, pairs, quads or tiles

// Weights are packed with their columns' sums. Signed ones whose zero points are 0 need no sums of rows.
// CHECK-LABEL: func.func @signed
// PAIRS-LABEL: func.func @signed
func.func @signed(%a: tensor<5x1000xui8>, %za: tensor<i32>) -> tensor<5x100xi32> {
  // CHECK: %[[P:.*]] = dataflow.pack_integer_rhs %{{.*}} panels <dot = quads, columns = 100, segments = 1, length = 1000, panel = 32, zeroPoints = false> : (tensor<1000x100xi8>) -> tensor<128512xi8>
  // CHECK: dataflow.integer_matmul %{{.*}} less %{{.*}}, %[[P]] panels
  // PAIRS: dataflow.pack_integer_rhs %{{.*}} panels <dot = pairs, columns = 100, segments = 1, length = 1000, panel = 16, zeroPoints = false>
  %b = dataflow.constant dense<3> : tensor<1000x100xi8>
  %0 = dataflow.integer_matmul %a less %za, %b : (tensor<5x1000xui8>, tensor<1000x100xi8>, tensor<i32>) -> tensor<5x100xi32>
  return %0 : tensor<5x100xi32>
}

// Unsigned ones become signed, their zero points by 128 less: 128 is then 0.
// CHECK-LABEL: func.func @unsigned
func.func @unsigned(%a: tensor<5x1000xui8>) -> (tensor<5x100xi32>, tensor<5x100xi32>) {
  // CHECK: dataflow.pack_integer_rhs %{{.*}} less %{{.*}} panels <{{.*}} zeroPoints = false>
  // CHECK: dataflow.pack_integer_rhs %{{.*}} panels <{{.*}} zeroPoints = true>
  %b = dataflow.constant dense<3> : tensor<1000x100xui8>
  %middle = dataflow.constant dense<128> : tensor<i32>
  %0 = dataflow.integer_matmul %a, %b less %middle : (tensor<5x1000xui8>, tensor<1000x100xui8>, tensor<i32>) -> tensor<5x100xi32>
  %1 = dataflow.integer_matmul %a, %b : (tensor<5x1000xui8>, tensor<1000x100xui8>) -> tensor<5x100xi32>
  return %0, %1 : tensor<5x100xi32>, tensor<5x100xi32>
}

// What changes is packed by the kernel itself.
// CHECK-LABEL: func.func @attention
func.func @attention(%a: tensor<4x5x20xui8>, %b: tensor<4x20x8xi8>) -> tensor<4x5x8xi32> {
  // CHECK-NOT: pack_integer_rhs
  // CHECK: dataflow.integer_matmul %{{.*}}, %{{.*}} panels <dot = quads, columns = 8, segments = 1, length = 20, panel = 16, zeroPoints = false> : (tensor<4x5x20xui8>, tensor<4x20x8xi8>) -> tensor<4x5x8xi32>
  %0 = dataflow.integer_matmul %a, %b : (tensor<4x5x20xui8>, tensor<4x20x8xi8>) -> tensor<4x5x8xi32>
  return %0 : tensor<4x5x8xi32>
}

// Rows of taps are runs of bytes; in groups, or dilated, each tap is one. Depthwise taps have a product a lane.
// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x64x9x9xui8>, %zx: tensor<i32>) -> (tensor<1x40x9x9xi32>, tensor<1x32x9x9xi32>, tensor<1x64x9x9xi32>) {
  // CHECK-DAG: dataflow.integer_conv %{{.*}} panels <dot = quads, columns = 40, segments = 3, length = 192, panel = 32, zeroPoints = false> {filters = 40 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x64xui8>, tensor<37120xi8>, tensor<i32>)
  // CHECK-DAG: dataflow.integer_conv %{{.*}} panels <dot = quads, columns = 16, segments = 9, length = 32, panel = 16, zeroPoints = false> {filters = 32 : i64, groups = 2 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>} : (tensor<1x9x9x64xui8>, tensor<9344xi8>, tensor<i32>)
  // CHECK-DAG: dataflow.integer_conv %{{.*}} panels <dot = plain, columns = 64, segments = 9, length = 1, panel = 32, zeroPoints = false> {filters = 64 : i64, groups = 64 : i64, kernel = array<i64: 3, 3>, layout = #dataflow<layout channels_last>}
  %w = dataflow.constant dense<3> : tensor<40x64x3x3xi8>
  %grouped = dataflow.constant dense<3> : tensor<32x32x3x3xi8>
  %depthwise = dataflow.constant dense<3> : tensor<64x1x3x3xi8>
  %0 = dataflow.integer_conv %x less %zx, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x64x9x9xui8>, tensor<40x64x3x3xi8>, tensor<i32>) -> tensor<1x40x9x9xi32>
  %1 = dataflow.integer_conv %x less %zx, %grouped strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64} : (tensor<1x64x9x9xui8>, tensor<32x32x3x3xi8>, tensor<i32>) -> tensor<1x32x9x9xi32>
  %2 = dataflow.integer_conv %x less %zx, %depthwise strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 64 : i64} : (tensor<1x64x9x9xui8>, tensor<64x1x3x3xi8>, tensor<i32>) -> tensor<1x64x9x9xi32>
  return %0, %1, %2 : tensor<1x40x9x9xi32>, tensor<1x32x9x9xi32>, tensor<1x64x9x9xi32>
}

// Tile registers take products of some rows whose columns have no zero points; segments are filled up to 64 bytes.
// TILES-LABEL: func.func @signed
// TILES: dataflow.integer_matmul %{{.*}} panels <dot = quads, columns = 100
// TILES-LABEL: func.func @tall
func.func @tall(%a: tensor<3x8x1000xui8>) -> (tensor<3x8x100xi32>, tensor<3x8x100xi32>) {
  // TILES: dataflow.integer_matmul %{{.*}} panels <dot = tiles, columns = 100, segments = 1, length = 1000, panel = 32, zeroPoints = false> : (tensor<3x8x1000xui8>, tensor<131584xi8>)
  // TILES: dataflow.integer_matmul %{{.*}} panels <dot = quads, columns = 100, segments = 1, length = 1000, panel = 32, zeroPoints = true>
  %b = dataflow.constant dense<3> : tensor<1000x100xi8>
  %u = dataflow.constant dense<3> : tensor<1000x100xui8>
  %0 = dataflow.integer_matmul %a, %b : (tensor<3x8x1000xui8>, tensor<1000x100xi8>) -> tensor<3x8x100xi32>
  %1 = dataflow.integer_matmul %a, %u : (tensor<3x8x1000xui8>, tensor<1000x100xui8>) -> tensor<3x8x100xi32>
  return %0, %1 : tensor<3x8x100xi32>, tensor<3x8x100xi32>
}

// No panels have so many columns or rows: such products stay as they are.
// CHECK-LABEL: func.func @large
// CHECK-NOT: panels
func.func @large(%a: tensor<4x8xui8>, %b: tensor<8x4611686018427387904xi8>, %x: tensor<1x1x1x1xui8>)
    -> (tensor<4x4611686018427387904xi32>, tensor<1x8589934592x1x1xi32>) {
  %w = dataflow.constant dense<3> : tensor<8589934592x1x1x1xi8>
  %0 = dataflow.integer_matmul %a, %b : (tensor<4x8xui8>, tensor<8x4611686018427387904xi8>) -> tensor<4x4611686018427387904xi32>
  %1 = dataflow.integer_conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] : (tensor<1x1x1x1xui8>, tensor<8589934592x1x1x1xi8>) -> tensor<1x8589934592x1x1xi32>
  return %0, %1 : tensor<4x4611686018427387904xi32>, tensor<1x8589934592x1x1xi32>
}

// A border cannot hold a zero point that is no byte.
// CHECK-LABEL: func.func @beyond_bytes
// CHECK-NOT: panels
// CHECK: return
// CHECK-LABEL: func.func @byte
// CHECK: dataflow.integer_conv {{.*}} panels
func.func @beyond_bytes(%x: tensor<1x4x9x9xui8>) -> tensor<1x6x9x9xi32> {
  %z = dataflow.constant dense<256> : tensor<i32>
  %w = dataflow.constant dense<3> : tensor<6x4x3x3xi8>
  %0 = dataflow.integer_conv %x less %z, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<i32>) -> tensor<1x6x9x9xi32>
  return %0 : tensor<1x6x9x9xi32>
}
func.func @byte(%x: tensor<1x4x9x9xui8>) -> tensor<1x6x9x9xi32> {
  %z = dataflow.constant dense<255> : tensor<i32>
  %w = dataflow.constant dense<3> : tensor<6x4x3x3xi8>
  %0 = dataflow.integer_conv %x less %z, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : (tensor<1x4x9x9xui8>, tensor<6x4x3x3xi8>, tensor<i32>) -> tensor<1x6x9x9xi32>
  return %0 : tensor<1x6x9x9xi32>
}
