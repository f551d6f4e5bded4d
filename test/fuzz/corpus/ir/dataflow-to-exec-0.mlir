// passes: dataflow-to-exec name=twice
#device = #dataflow.device<"cpu", chunks>
#plan = #exec.plan<
  arenas = [64],
  streams = [#exec.stream<device = "cpu", kind = compute>],
  slots = [#exec.slot<tensor = "x", memory = "host", bytes = 32, resident = true>,
           #exec.slot<tensor = "elementwise", memory = "host", offset = 0, bytes = 64>,
           #exec.slot<tensor = "elementwise#1", memory = "host", bytes = 32>],
  commands = [#exec.launch<op = "elementwise", stream = 0, reads = [0], writes = [1], waits = []>,
              #exec.launch<op = "elementwise#1", stream = 0, reads = [1], writes = [2], waits = []>]>
module attributes {exec.machine = #exec.machine<memories = [#exec.memory<name = "host">],
                   devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 2, speed = 1.0>], links = []>} {
  func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) attributes {exec.plan = #plan} {
    %0 = dataflow.unary tanh %x {dataflow.device = #device, dataflow.order = 0 : i64} : tensor<8xf32>
    %1 = dataflow.unary tanh %0 {dataflow.device = #device, dataflow.order = 1 : i64} : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}
