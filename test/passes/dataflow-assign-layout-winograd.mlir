// RUN: sluice-opt %s --dataflow-assign-layout='conv=auto' | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: sluice-opt %s --dataflow-assign-layout='conv=winograd' | FileCheck %s --check-prefixes=CHECK,WANTED
// RUN: sluice-opt %s --dataflow-assign-layout='conv=winograd tolerance=1e-6' | FileCheck %s --check-prefix=DIRECT
// RUN: sluice-opt %s --dataflow-assign-layout | FileCheck %s --check-prefix=DIRECT
// RUN: sluice-opt %s --dataflow-assign-layout='conv=winograd half=pairs' | FileCheck %s --check-prefix=PAIRS
// RUN: sluice-opt %s --dataflow-assign-layout='conv=winograd half=tiles lanes=16' | FileCheck %s --check-prefix=TILES
// RUN: not sluice-opt %s --dataflow-assign-layout='conv=fast' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not sluice-opt %s --dataflow-assign-layout='tolerance=-1' 2>&1 | FileCheck %s --check-prefix=NUMBER
// NAME: error: 'fast' is unknown, option 'conv' of dataflow-assign-layout, use direct, auto or winograd
// NUMBER: error: option 'tolerance' of dataflow-assign-layout is {{-1.*}} and must be 0 or more
// DIRECT-NOT: winograd

// Many channels and pixels: the error bound is beside the choice.
// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  // CHECK: %[[W:.*]] = dataflow.pack_winograd_weight winograd4 %{{.*}} {depth = [[DEPTH:[0-9]+]] : i64, panel = 32 : i64} : tensor<64x64x3x3xf32> -> tensor<[[BLOCKS:[0-9]+]]x2x36x[[DEPTH]]x32xf32>
  // CHECK: dataflow.conv %{{.*}}, %[[W]] {{.*}}{algorithm = #dataflow<conv_algorithm winograd4>, error_bound = {{[0-9.]+[eE]-0?[56]}} : f64, {{.*}} : tensor<1x56x56x64xf32>, tensor<[[BLOCKS]]x2x36x[[DEPTH]]x32xf32> -> tensor<1x56x56x64xf32>
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}

// One channel is not worth transforming. A small weight is transformed now: of a filter of ones, products of the sums
// of G's rows, which are 1, 3/2, 1/2 and 1 for tiles of 2 x 2 outputs.
// CHECK-LABEL: func.func @small
func.func @small(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  // AUTO-NOT: winograd
  // WANTED: %[[W:.*]] = dataflow.constant dense<{{\[\[\[\[\[}}1.000000e+00]], {{\[\[}}1.500000e+00]], {{\[\[}}5.000000e-01]], {{\[\[}}1.000000e+00]], {{\[\[}}1.500000e+00]], {{\[\[}}2.250000e+00]], {{\[\[}}7.500000e-01]], {{\[\[}}1.500000e+00]], {{\[\[}}5.000000e-01]], {{\[\[}}7.500000e-01]], {{\[\[}}2.500000e-01]], {{\[\[}}5.000000e-01]], {{\[\[}}1.000000e+00]], {{\[\[}}1.500000e+00]], {{\[\[}}5.000000e-01]], {{\[\[}}1.000000e+00]]]]]> : tensor<1x1x16x1x1xf32>
  // WANTED: dataflow.conv %{{.*}}, %[[W]] {{.*}}algorithm = #dataflow<conv_algorithm winograd2>
  %w = dataflow.constant dense<1.0> : tensor<1x1x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32> -> tensor<1x1x3x3xf32>
  return %0 : tensor<1x1x3x3xf32>
}

// Strides, groups and weights that are not constant are direct.
// CHECK-LABEL: func.func @others
// CHECK-NOT: winograd
func.func @others(%x: tensor<1x64x56x56xf32>, %v: tensor<64x64x3x3xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %g = dataflow.constant dense<1.0> : tensor<64x32x3x3xf32>
  %0 = dataflow.conv %x, %w strides [2, 2] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x28x28xf32>
  %1 = dataflow.conv %x, %g strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] {groups = 2 : i64} : tensor<1x64x56x56xf32>, tensor<64x32x3x3xf32> -> tensor<1x64x56x56xf32>
  %3 = dataflow.conv %x, %v strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %0, %1, %3 : tensor<1x64x28x28xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
}

// Halves are transformed as f32, unless instructions multiply them, which only tiles do for f16. Weights are f32.
// CHECK-LABEL: func.func @halves
// CHECK: dataflow.conv %{{.*}} {{.*}}algorithm = #dataflow<conv_algorithm winograd4>{{.*}} : tensor<1x56x56x64xf16>, tensor<{{[0-9x]+}}xf32> -> tensor<1x56x56x64xf16>
// PAIRS-LABEL: func.func @halves
// PAIRS: winograd4
// TILES-LABEL: func.func @halves
// TILES-NOT: winograd
// TILES: return
func.func @halves(%x: tensor<1x64x56x56xf16>) -> tensor<1x64x56x56xf16> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf16>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<1x64x56x56xf16>
  return %0 : tensor<1x64x56x56xf16>
}

// CHECK-LABEL: func.func @brains
// CHECK: winograd4
// PAIRS-LABEL: func.func @brains
// PAIRS-NOT: winograd
// PAIRS: return
func.func @brains(%x: tensor<1x64x56x56xbf16>) -> tensor<1x64x56x56xbf16> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xbf16>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<1x64x56x56xbf16>, tensor<64x64x3x3xbf16> -> tensor<1x64x56x56xbf16>
  return %0 : tensor<1x64x56x56xbf16>
}

// Nothing to compute.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: winograd
func.func @empty(%x: tensor<0x64x56x56xf32>) -> tensor<0x64x56x56xf32> {
  %w = dataflow.constant dense<1.0> : tensor<64x64x3x3xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] pads [1, 1, 1, 1] dilations [1, 1] : tensor<0x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<0x64x56x56xf32>
  return %0 : tensor<0x64x56x56xf32>
}
