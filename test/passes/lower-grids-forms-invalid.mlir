// RUN: sluice-opt %s --lower-grids -split-input-file -verify-diagnostics

// Blocks of no known size.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' has no known_block_size of one dimension, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y"} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// No name for errors.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' has no attribute 'dataflow.operator', gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// Blocks of a second dimension.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' has a known_grid_size of more than one dimension, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 2, 1>} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// A block of threads that is not made of warps.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' has 33 threads, a multiple of 32 up to 1024 is allowed, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 33, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// No global for the descriptor.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' has no llvm.mlir.global of the same name for the descriptor, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
  }
}

// -----

// An argument that is neither a pointer nor an extent.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' is not a kernel that takes pointers and extents of type i64 and returns nothing, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: f32) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// Threads of a second dimension.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' contains 'gpu.thread_id' in a form that cannot be lowered, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %0 = gpu.thread_id y
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// A shuffle of another mode.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' contains 'gpu.shuffle' in a form that cannot be lowered, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %v = arith.constant 1 : i32
      %w = arith.constant 32 : i32
      %0, %p = gpu.shuffle up %v, %v, %w : i32
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// An address that is not in shared memory.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' contains 'llvm.mlir.addressof' in a form that cannot be lowered, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    llvm.mlir.global internal constant @data() : i8
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %0 = llvm.mlir.addressof @data : !llvm.ptr
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// A choice by architecture without an alternative.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{function 'g' contains 'scf.if' in a form that cannot be lowered, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      %c = arith.constant true
      scf.if %c {
      } {dataflow.architecture = 80 : i32}
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}

// -----

// A function that is no grid.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{'func.func' is neither gpu.func nor llvm.mlir.global, gpu.module 'device', write grids as dataflow-emit-kernels does}}
module attributes {exec.target = #target} {
  gpu.module @device {
    func.func @g() {
      return
    }
  }
}

// -----

// Grids of two GPUs.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
// expected-error @+1 {{the module has 2 gpu.modules, of which the first two are 'first' and 'second', put the grids of all GPUs into one gpu.module}}
module attributes {exec.target = #target} {
  gpu.module @first {
  }
  gpu.module @second {
  }
}

// -----

// A target without a GPU.
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = []>
// expected-error @+1 {{the target has no GPU to run the grids of gpu.module 'device', attribute 'exec.target', add cuda:sm_90 or cuda:emulated to the attribute}}
module attributes {exec.target = #target} {
  gpu.module @device {
    gpu.func @g(%x: !llvm.ptr) kernel attributes {dataflow.operator = "y", known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
  }
  llvm.mlir.global external constant @g() : i8
}
