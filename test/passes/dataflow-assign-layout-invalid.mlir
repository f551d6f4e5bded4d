// RUN: not sluice-opt %s --dataflow-assign-layout='lanes=many' 2>&1 | FileCheck %s
// CHECK: for the --lanes option: 'many' value invalid
func.func @none() {
  return
}
