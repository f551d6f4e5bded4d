// passes: dataflow-to-exec
#machine = #exec.machine<memories = [#exec.memory<name = "host">],
                         devices = [#exec.device<name = "cpu", kind = cpu, memory = "host", threads = 1, speed = 1.0>], links = []>
#plan = #exec.plan<arenas = [0], streams = [#exec.stream<device = "cpu", kind = compute>], slots = [], commands = []>
module attributes {exec.machine = #machine} {
  func.func @main() -> tensor<8xf32> attributes {exec.plan = #plan} {
    %h = dataflow.state "h" dense<0.0> : tensor<8xf32>
    %g = dataflow.state "h" dense<0.0> : tensor<8xf32>
    %0 = dataflow.binary add %h, %g : tensor<8xf32>, tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
