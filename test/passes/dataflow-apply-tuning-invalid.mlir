// RUN: not sluice-opt %s --dataflow-apply-tuning 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}open
// RUN: not sluice-opt %s --dataflow-apply-tuning=file=%t.none 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: {{.*}}.none
// RUN: not sluice-opt %s --dataflow-apply-tuning='file=%S/Inputs/tuning.json device=cpu/4t' 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: the tuning in '{{.*}}tuning.json' was measured on device 'cpu/2t', and this computer has 'cpu/4t', run 'sluice tune' on this computer or leave the file out
// RUN: not sluice-opt %s --dataflow-apply-tuning='file=%S/Inputs/tuning.json origin=there' 2>&1 | FileCheck %s --check-prefix=ORIGIN
// ORIGIN: error: the tuning in '{{.*}}tuning.json' was measured with compiler and processor 'here', and this computer has 'there', run 'sluice tune' on this computer or leave the file out
// RUN: sed 's/"rows": 4/"rows": 400/' %S/Inputs/tuning.json > %t.json
// RUN: not sluice-opt %s --dataflow-apply-tuning=file=%t.json 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: rows 400 is out of range, at '{{.*}}kernels[0].tuning', write 0 to 32
// RUN: sed 's/"rows": 4/"algorithm": "winograd2"/; s/4630f2d96b55a6095e65cc0b914e2add/ebd3f20d589198d78a01f94acc736f22/' %S/Inputs/tuning.json > %t.algorithm.json
// RUN: not sluice-opt %s --dataflow-apply-tuning=file=%t.algorithm.json 2>&1 | FileCheck %s --check-prefix=ALGORITHM
// ALGORITHM: error: the tuning file gives kernel 'ebd3f20d589198d78a01f94acc736f22' an algorithm, and the kernel is not a convolution, remove 'algorithm' from this kernel
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dataflow.matmul %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
