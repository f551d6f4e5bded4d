// RUN: sluice-opt %s | sluice-opt | FileCheck %s
// RUN: sluice-opt %s --mlir-print-op-generic | sluice-opt | FileCheck %s

// A step for small values of the symbols has arenas of its own, inputs and outputs of fewer bytes, and its own init.
// CHECK: exec.init for [4] {
// CHECK: exec.step for [4] arenas [0, 128] {
// CHECK: exec.home input 0 bytes 16 tensor "x"
// CHECK: exec.init {
// CHECK: exec.step {
// CHECK: exec.home input 0 bytes 64 tensor "x"
#symbols = #dataflow.symbols<"length" = 1 to 16>
module {
  func.func private @kernel()
  exec.program @m parameters 64 state 0 {
    exec.memory @host
    exec.memory @accel arena 192
    exec.device @device emulated in @accel threads 1 speed 1.0
    exec.link @bus joins @host, @accel rate 1.0e9 duplex 2.0e9 latency 0
    exec.stream @run compute of @device
    exec.stream @in in of @device
    exec.stream @out out of @device
    exec.input "x" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
    exec.output "y" : tensor<16xf32, #dataflow.extents<()[s0] -> (s0), #symbols>>
    exec.init for [4] {
      %home = exec.home parameter 0 bytes 64 tensor "w"
      %w = exec.slot @accel at 0 bytes 64 tensor "w"
      %e = exec.swap_in %home to %w bytes 64 via @bus on @in
    }
    exec.step for [4] arenas [0, 128] {
      %w = exec.slot @accel at 0 bytes 64 tensor "w" resident
      %x = exec.home input 0 bytes 16 tensor "x"
      %x1 = exec.slot @accel at 64 bytes 16 tensor "x"
      %y1 = exec.slot @accel at 64 bytes 16 tensor "y"
      %y = exec.home output 0 bytes 16 tensor "y"
      %in = exec.swap_in %x to %x1 bytes 16 via @bus on @in
      %ran = exec.launch @kernel "op" reads(%x1, %w) writes(%y1) on @run wait(%in)
      %out = exec.swap_out %y1 to %y bytes 16 via @bus on @out wait(%ran)
    }
    exec.init {
      %home = exec.home parameter 0 bytes 64 tensor "w"
      %w = exec.slot @accel at 128 bytes 64 tensor "w"
      %e = exec.swap_in %home to %w bytes 64 via @bus on @in
    }
    exec.step {
      %w = exec.slot @accel at 128 bytes 64 tensor "w" resident
      %x = exec.home input 0 bytes 64 tensor "x"
      %x1 = exec.slot @accel at 0 bytes 64 tensor "x"
      %y1 = exec.slot @accel at 64 bytes 64 tensor "y"
      %y = exec.home output 0 bytes 64 tensor "y"
      %in = exec.swap_in %x to %x1 bytes 64 via @bus on @in
      %ran = exec.launch @kernel "op" reads(%x1, %w) writes(%y1) on @run wait(%in)
      %out = exec.swap_out %y1 to %y bytes 64 via @bus on @out wait(%ran)
    }
  }
}
