// RUN: sluice-opt %s --dataflow-ask-libraries | FileCheck %s --check-prefixes=BOTH,AUTO
// RUN: sluice-opt %s --dataflow-ask-libraries=choice=on | FileCheck %s --check-prefixes=BOTH,ON

// From 2^28 operations on, a library is asked without measurements.
// BOTH-LABEL: func.func @large
// BOTH: dataflow.matmul {{.*}}library = 4194304 : i64
func.func @large(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = dataflow.matmul %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// BOTH-LABEL: func.func @small
// AUTO-NOT: library
// ON: dataflow.matmul {{.*}}library = 4194304 : i64
func.func @small(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dataflow.matmul %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
