// RUN: not sluice-opt %s --dataflow-ask-libraries=choice=off 2>&1 | FileCheck %s --check-prefix=CHOICE
// CHOICE: error: 'off' is unknown, option 'choice', use on or auto
// RUN: not sluice-opt %s --dataflow-ask-libraries=profile=%t.none 2>&1 | FileCheck %s --check-prefix=PROFILE
// PROFILE: error: {{.*}}.none
func.func @main(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = dataflow.matmul %a, %b : tensor<8x8xf32>, tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
