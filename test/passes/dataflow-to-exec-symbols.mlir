// RUN: sluice-opt %s --dataflow-to-exec=name=one | FileCheck %s

// A device, a link and a stream whose names are taken have symbols of their own. The runtime reports the machine's names.
#device = #dataflow.device<"accel0", chunks>
#plan = #exec.plan<
  arenas = [0, 128, 0],
  streams = [#exec.stream<device = "accel0", kind = compute>, #exec.stream<device = "accel0", kind = in>,
             #exec.stream<device = "accel0", kind = out>],
  slots = [#exec.slot<tensor = "x", memory = "host", bytes = 32, resident = true>,
           #exec.slot<tensor = "x", memory = "accel0", offset = 0, bytes = 32>,
           #exec.slot<tensor = "elementwise", memory = "accel0", offset = 64, bytes = 32>,
           #exec.slot<tensor = "elementwise", memory = "host", bytes = 32>],
  commands = [#exec.copy<from = 0, to = 1, link = 0, stream = 1, waits = []>,
              #exec.launch<op = "elementwise", stream = 0, reads = [1], writes = [2], waits = [0]>,
              #exec.copy<from = 2, to = 3, link = 0, stream = 2, waits = [1]>]>

// CHECK: exec.memory @host{{$}}
// CHECK-NEXT: exec.memory @accel0 arena 128
// CHECK-NEXT: exec.memory @host.accel0{{$}}
// CHECK-NEXT: exec.device @cpu cpu in @host
// CHECK-NEXT: exec.device @accel0.device called "accel0" emulated in @accel0
// CHECK-NEXT: exec.device @accel0.in cpu in @host
// CHECK-NEXT: exec.link @host.accel0.link joins @host, @accel0
// CHECK-NEXT: exec.stream @accel0.compute compute of @accel0.device
// CHECK-NEXT: exec.stream @accel0.in.stream in of @accel0.device
// CHECK-NEXT: exec.stream @accel0.out out of @accel0.device
// CHECK: exec.swap_in %{{.*}} to %{{.*}} bytes 32 via @host.accel0.link on @accel0.in.stream
// CHECK: exec.launch @kernel0 "elementwise" {{.*}} on @accel0.compute
// CHECK: exec.swap_out %{{.*}} to %{{.*}} bytes 32 via @host.accel0.link on @accel0.out
module attributes {exec.machine = #exec.machine<
    memories = [#exec.memory<name = "host">, #exec.memory<name = "accel0">, #exec.memory<name = "host.accel0">],
    devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>,
               #exec.device<name = "accel0", kind = emulated, memory = "accel0", threads = 1, speed = 1.0>,
               #exec.device<name = "accel0.in", kind = cpu, memory = "host", threads = 1, speed = 1.0>],
    links = [#exec.link<first = "host", second = "accel0", rate = 1.0e9 : f64, duplex = 2.0e9 : f64, latency = 0>]>} {
  func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x {dataflow.device = #device, dataflow.order = 0 : i64} : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
