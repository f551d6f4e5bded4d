// RUN: sluice-opt %s --dataflow-to-exec=name=twice | FileCheck %s

// Two launches of one kernel: the operators are alike, but for the order.
#device = #dataflow.device<"cpu", chunks>
#plan = #exec.plan<
  arenas = [64],
  streams = [#exec.stream<device = "cpu", kind = compute>],
  slots = [#exec.slot<tensor = "x", memory = "host", bytes = 32, resident = true>,
           #exec.slot<tensor = "elementwise", memory = "host", offset = 0, bytes = 64>,
           #exec.slot<tensor = "elementwise#1", memory = "host", bytes = 32>],
  commands = [#exec.launch<op = "elementwise", stream = 0, reads = [0], writes = [1], waits = []>,
              #exec.launch<op = "elementwise#1", stream = 0, reads = [1], writes = [2], waits = []>]>

// An outlined operator: its device stays, its position in the schedule goes.
// CHECK: func.func @kernel0(%[[A:.*]]: tensor<8xf32>) -> tensor<8xf32> attributes {dataflow.kernel} {
// CHECK-NEXT: %[[Y:.*]] = dataflow.unary {{ *}}tanh %[[A]] {dataflow.device = #dataflow.device<"cpu", chunks>} : tensor<8xf32>
// CHECK-NEXT: return %[[Y]]
// CHECK-NOT: func.func
// CHECK: exec.program @twice parameters 0 state 0 {
// CHECK-NEXT: exec.memory @host arena 64
// CHECK-NEXT: exec.device @cpu cpu in @host threads 2 speed 1.0
// CHECK-NEXT: exec.stream @cpu.compute compute of @cpu
// CHECK-NEXT: exec.input "x" : tensor<8xf32>
// CHECK-NEXT: exec.output "y" : tensor<8xf32>
// CHECK-NEXT: exec.step {
// CHECK-NEXT: %[[X:.*]] = exec.home input 0 bytes 32 tensor "x"
// CHECK-NEXT: %[[T:.*]] = exec.slot @host at 0 bytes 64 tensor "elementwise"
// CHECK-NEXT: exec.launch @kernel0 "elementwise" reads(%[[X]]) writes(%[[T]]) on @cpu.compute
// CHECK-NEXT: %[[O:.*]] = exec.home output 0 bytes 32 tensor "elementwise#1"
// CHECK-NEXT: exec.launch @kernel0 "elementwise#1" reads(%[[T]]) writes(%[[O]]) on @cpu.compute
module attributes {exec.machine = #exec.machine<memories = [#exec.memory<name = "host">],
                   devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 2, speed = 1.0>], links = []>} {
  func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x {dataflow.device = #device, dataflow.order = 0 : i64} : tensor<8xf32>
    %1 = dataflow.unary tanh %0 {dataflow.device = #device, dataflow.order = 1 : i64} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
