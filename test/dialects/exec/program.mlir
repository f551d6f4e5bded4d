// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// A parameter kept on the accelerator, an input swapped in, an output swapped
// out, a state updated in place, and scratch reused once its users are done.

// CHECK-LABEL: exec.program @mlp parameters 256 state 64
exec.program @mlp parameters 256 state 64 {
  // CHECK-NEXT: exec.memory @host
  exec.memory @host
  // CHECK-NEXT: exec.memory @accel0 arena 640 capacity 4096
  exec.memory @accel0 arena 640 capacity 4096
  // CHECK-NEXT: exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.000000e+00
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  // CHECK-NEXT: exec.link @bus joins @host, @accel0 rate 1.200000e+10 duplex 2.000000e+10 latency 10000 throttle
  exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000 throttle
  // CHECK-NEXT: exec.stream @accel0.compute compute of @accel0.device
  exec.stream @accel0.compute compute of @accel0.device
  exec.stream @accel0.in in of @accel0.device
  exec.stream @accel0.out out of @accel0.device
  // CHECK: exec.input "x" : tensor<16xf32>
  exec.input "x" : tensor<16xf32>
  // CHECK: exec.output "y" : tensor<16xf32>
  exec.output "y" : tensor<16xf32>
  exec.init {
    // CHECK: %[[W:.*]] = exec.home parameter 0 bytes 256 tensor "w"
    %w = exec.home parameter 0 bytes 256 tensor "w"
    %w_0 = exec.slot @accel0 at 0 bytes 256 tensor "w"
    // CHECK: exec.swap_in %[[W]] to %{{.*}} bytes 256 via @bus on @accel0.in
    %e = exec.swap_in %w to %w_0 bytes 256 via @bus on @accel0.in
  }
  exec.step {
    // CHECK: exec.slot @accel0 at 0 bytes 256 tensor "w" resident
    %w = exec.slot @accel0 at 0 bytes 256 tensor "w" resident
    %x = exec.home input 0 bytes 64 tensor "x"
    // CHECK: exec.home state 0 bytes 64 tensor "h" resident
    %h = exec.home state 0 bytes 64 tensor "h" resident
    // CHECK: exec.home state 0 bytes 64 tensor "h_new" replaces "h"
    %h_new = exec.home state 0 bytes 64 tensor "h_new" replaces "h"
    %y = exec.home output 0 bytes 64 tensor "y"
    %x_0 = exec.slot @accel0 at 256 bytes 64 tensor "x"
    %h_0 = exec.slot @accel0 at 320 bytes 64 tensor "h"
    %h_1 = exec.slot @accel0 at 320 bytes 64 tensor "h_new"
    // CHECK: exec.slot @accel0 at 384 bytes 128
    %scratch = exec.slot @accel0 at 384 bytes 128
    %y_0 = exec.slot @accel0 at 256 bytes 64 tensor "y"
    // CHECK: %[[IN:.*]] = exec.swap_in
    %e0 = exec.swap_in %x to %x_0 bytes 64 via @bus on @accel0.in
    %e1 = exec.swap_in %h to %h_0 bytes 64 via @bus on @accel0.in
    // CHECK: exec.launch @update "update" reads({{.*}}) writes({{.*}}) on @accel0.compute wait(%{{.*}})
    %e2 = exec.launch @update "update" reads(%x_0, %h_0) writes(%h_1, %scratch) on @accel0.compute wait(%e1)
    %e3 = exec.launch @apply "apply" reads(%w, %x_0, %h_1) writes(%y_0) on @accel0.compute
    // CHECK: exec.swap_out
    %e4 = exec.swap_out %h_1 to %h_new bytes 64 via @bus on @accel0.out wait(%e2)
    %e5 = exec.swap_out %y_0 to %y bytes 64 via @bus on @accel0.out wait(%e3)
  }
}

// A resident without bytes has nothing to keep: it may begin where another does.
// CHECK-LABEL: exec.program @empty
exec.program @empty parameters 64 state 0 {
  exec.memory @host
  exec.memory @accel0 arena 64 capacity 4096
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000
  exec.stream @accel0.compute compute of @accel0.device
  exec.stream @accel0.in in of @accel0.device
  exec.init {
    %w = exec.home parameter 0 bytes 64 tensor "w"
    %w_0 = exec.slot @accel0 at 0 bytes 64 tensor "w"
    %n = exec.home parameter 0 bytes 0 tensor "nothing"
    %n_0 = exec.slot @accel0 at 0 bytes 0 tensor "nothing"
    %e0 = exec.swap_in %w to %w_0 bytes 64 via @bus on @accel0.in
    %e1 = exec.swap_in %n to %n_0 bytes 0 via @bus on @accel0.in
  }
  exec.step {
    // CHECK: tensor "w" resident
    %w = exec.slot @accel0 at 0 bytes 64 tensor "w" resident
    // CHECK: tensor "nothing" resident
    %n = exec.slot @accel0 at 0 bytes 0 tensor "nothing" resident
  }
}

// A copy from one accelerator to another.
// CHECK-LABEL: exec.program @peers
exec.program @peers parameters 0 state 0 {
  exec.memory @host
  exec.memory @accel0 arena 64
  exec.memory @accel1 arena 64
  exec.device @accel0.device called "accel0" emulated in @accel0 threads 1 speed 1.0
  exec.device @accel1.device called "accel1" emulated in @accel1 threads 1 speed 1.0
  exec.link @bus joins @host, @accel0 rate 1.2e10 duplex 2.0e10 latency 10000
  exec.link @peer joins @accel0, @accel1 rate 1.2e10 duplex 2.0e10 latency 10000
  exec.stream @accel0.in in of @accel0.device
  exec.stream @accel1.in in of @accel1.device
  exec.input "x" : tensor<16xf32>
  exec.step {
    %x = exec.home input 0 bytes 64 tensor "x"
    %a = exec.slot @accel0 at 0 bytes 64 tensor "x"
    %b = exec.slot @accel1 at 0 bytes 64 tensor "x"
    %e0 = exec.swap_in %x to %a bytes 64 via @bus on @accel0.in
    // CHECK: exec.copy %{{.*}} to %{{.*}} bytes 64 via @peer on @accel1.in wait(%{{.*}})
    %e1 = exec.copy %a to %b bytes 64 via @peer on @accel1.in wait(%e0)
  }
}

// Kernels are the module's.
func.func private @update()
func.func private @apply()
