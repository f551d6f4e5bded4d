// RUN: sluice-opt %s | sluice-opt | FileCheck %s

// A parameter that stays in the host's arena, one that streams from a file, and a tensor that goes to the file and comes
// back.

// CHECK-LABEL: exec.program @streams parameters 512 state 0
exec.program @streams parameters 512 state 0 {
  // CHECK-NEXT: exec.memory @host arena 768
  exec.memory @host arena 768
  // CHECK-NEXT: exec.memory @disk file arena 256 capacity 4096
  exec.memory @disk file arena 256 capacity 4096
  exec.device @cpu cpu in @host threads 1 speed 1.0
  exec.link @bus joins @disk, @host rate 1.0e9 duplex 1.5e9 latency 1000
  exec.stream @run compute of @cpu
  // CHECK: exec.stream @in file_in of @cpu
  exec.stream @in file_in of @cpu
  // CHECK: exec.stream @out file_out of @cpu
  exec.stream @out file_out of @cpu
  exec.input "x" : tensor<64xf32>
  exec.output "y" : tensor<64xf32>
  exec.init {
    // CHECK: %[[V:.*]] = exec.home parameter 0 in @disk bytes 256 tensor "v"
    %v = exec.home parameter 0 in @disk bytes 256 tensor "v"
    %v_0 = exec.slot @host at 0 bytes 256 tensor "v"
    // CHECK: %read = exec.read %[[V]] to %{{.*}} bytes 256 via @bus on @in
    %e = exec.read %v to %v_0 bytes 256 via @bus on @in
  }
  exec.step {
    %v = exec.slot @host at 0 bytes 256 tensor "v" resident
    %w = exec.home parameter 256 in @disk bytes 256 tensor "w"
    %x = exec.home input 0 bytes 256 tensor "x"
    %y = exec.home output 0 bytes 256 tensor "y"
    %t = exec.slot @host at 256 bytes 256 tensor "t"
    %t_saved = exec.slot @disk at 0 bytes 256 tensor "t"
    %w_0 = exec.slot @host at 512 bytes 256 tensor "w"
    %u = exec.slot @host at 256 bytes 256 tensor "u"
    %t_back = exec.slot @host at 512 bytes 256 tensor "t"
    %e0 = exec.launch @f "first" reads(%x, %v) writes(%t) on @run
    // CHECK: exec.write %{{.*}} to %{{.*}} bytes 256 via @bus on @out wait(%{{.*}})
    %e1 = exec.write %t to %t_saved bytes 256 via @bus on @out wait(%e0)
    %e2 = exec.read %w to %w_0 bytes 256 via @bus on @in
    %e3 = exec.launch @f "second" reads(%x, %w_0) writes(%u) on @run wait(%e1, %e2)
    %e4 = exec.read %t_saved to %t_back bytes 256 via @bus on @in wait(%e3)
    %e5 = exec.launch @f "third" reads(%u, %t_back) writes(%y) on @run wait(%e4)
  }
}

func.func private @f()
