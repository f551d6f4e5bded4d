// RUN: not sluice-opt %s --dataflow-emit-kernels=form=grids --lower-grids 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: the module has no attribute 'exec.target', run the pass exec-attach-target first

// RUN: not sluice-opt %s --exec-attach-target='target=native,cuda:sm_90' --dataflow-emit-kernels=form=grids --lower-grids 2>&1 | FileCheck %s --check-prefix=MATH
// MATH: error: operator '{{.*}}' calls '{{.*}}', which has no implementation for GPUs, place the operator on a CPU
func.func @sine(%x: tensor<64xf64>) -> tensor<64xf64> attributes {dataflow.kernel} {
  %0 = dataflow.unary sin %x : tensor<64xf64>
  return %0 : tensor<64xf64>
}
