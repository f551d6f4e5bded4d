// RUN: not sluice-opt %s --emit-objects=prefix=%t 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: the module has no attribute 'exec.target', run the pass exec-attach-target first
// RUN: not sluice-opt %s --exec-attach-target --emit-objects=prefix=%t 2>&1 | FileCheck %s --check-prefix=DIALECT
// DIALECT: error: the module has operations outside the LLVM dialect: {{.*}}, lower kernels and program before you emit the module
// RUN: not sluice-opt %s --exec-attach-target --lower-kernels --emit-objects=prefix=%t/none/model 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: {{.*}}none/model.0.o
// RUN: not sluice-opt %s --exec-attach-target --lower-kernels --emit-objects='prefix=%t level=4' 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: optimization level 4 does not exist, pass emit-objects, give a level from 0 to 3
func.func @kernel() {
  return
}
