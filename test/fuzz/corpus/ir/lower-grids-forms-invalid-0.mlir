// passes: lower-grids
#target = #exec.target<name = "x86-64-v3", triple = "x86_64-unknown-linux-gnu", cpu = "x86-64-v3", features = "", tune = "generic",
                       required = "x86-64-v3", vector_bits = 256, registers = 16, architectures = [90], emulated = true>
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
